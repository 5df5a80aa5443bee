// A call handler in JavaScript, started by systemd as a unit of its own: it fetches its push and does what it is asked.
import http from 'node:http';

const app = process.env.RINGWAKE_APP;
const socketPath = '/run/ringwake/control.sock';

function ask(method, path, body) {
    return new Promise((resolve, reject) => {
        const request = http.request({ socketPath, method, path, headers: body && { 'content-type': 'application/json' } });
        request.on('response', (response) => {
            let text = '';
            response.on('data', (part) => (text += part));
            response.on('end', () => resolve({ status: response.statusCode, json: JSON.parse(text || '{}') }));
            response.on('error', reject);
        });
        request.on('error', reject);
        request.end(body && JSON.stringify(body));
    });
}

// The lines of the events, until the daemon closes the stream.
function watch(call, handle) {
    return new Promise((resolve) => {
        http.get({ socketPath, path: `/v1/events?app=${app}&call=${call}` }, (response) => {
            let rest = '';
            response.on('data', (part) => {
                const lines = (rest + part).split('\n');
                rest = lines.pop();
                lines.forEach((line) => handle(JSON.parse(line)));
            });
            response.on('close', resolve);
        }).on('error', resolve);
    });
}

// Hot enough that the compiler of the engine makes machine code of it: what the daemon's own sandbox forbids.
function hot() {
    let sum = 0;
    for (let index = 0; index < 1e7; index += 1) sum = (sum + index * index) % 1000003;
    return sum;
}

const pushes = await ask('GET', `/v1/apps/${app}/pushes`);
const [{ call }] = pushes.json.pushes;
hot();
const report = await ask('POST', `/v1/calls/${call}/report?app=${app}`, { caller: 'sip:alice@example.org', ring: true });
if (report.status !== 200) throw new Error(JSON.stringify(report));
for (;;) {
    await watch(call, (event) => {
        if (event.event === 'action') ask('POST', `/v1/calls/${call}/fulfill?app=${app}`, { action: event.action });
        if (event.event === 'call' && event.state === 'ended') process.exit(0);
    });
    // The daemon restarts; the call continues.
    await new Promise((resolve) => setTimeout(resolve, 200));
}
