// The kernel's word on a time service, as a machine with one hears it.
#include <string.h>
#include <sys/timex.h>

int adjtimex(struct timex *state) {
    memset(state, 0, sizeof *state);
    return TIME_OK;
}

int ntp_adjtime(struct timex *state) { return adjtimex(state); }
int clock_adjtime(int clock, struct timex *state) { (void)clock; return adjtimex(state); }
