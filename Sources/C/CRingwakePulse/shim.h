#ifndef RINGWAKE_PULSE_SHIM_H
#define RINGWAKE_PULSE_SHIM_H

#include <pulse/pulseaudio.h>
#include <pulse/ext-stream-restore.h>

#endif
