"""What a daemon's /metrics says, as Prometheus' own parser reads it."""

import subprocess

from prometheus_client.parser import text_string_to_metric_families

from .daemon import Daemon


def scrape(daemon: Daemon) -> str:
    place = daemon.directory / "run" / "control.sock"
    command = ["curl", "--silent", "--show-error", "--fail", "--unix-socket", str(place), "http://localhost/metrics"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read_metrics(daemon: Daemon) -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    families = list(text_string_to_metric_families(scrape(daemon)))
    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert family.documentation and family.type in ("counter", "gauge", "histogram"), family
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in samples}
