/* A libcuda.so.1 whose driver cannot start. FAKE_CUINIT: the code that cuInit gives (100), or `hang`; FAKE_CUDA_VERSION: the newest CUDA
   that this driver speaks (13000). A real CUDA runtime above it says what it says on such a machine, and so does a real torch above that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refusal(void) {
    const char *given = getenv("FAKE_CUINIT");
    if (given && strcmp(given, "hang") == 0) for (;;) pause();
    return given ? atoi(given) : 100;
}

int cuDriverGetVersion(int *out) {
    const char *given = getenv("FAKE_CUDA_VERSION");
    *out = given ? atoi(given) : 13000;
    return 0;
}

int cuInit(unsigned flags) { return refusal(); }
int cuDeviceGetCount(int *out) { *out = 0; return refusal(); }
int cuGetErrorString(int code, const char **out) { *out = "an error of the driver that refuses"; return 0; }
int cuGetErrorName(int code, const char **out) { *out = "CUDA_ERROR_REFUSED"; return 0; }
int cuGetExportTable(const void **table, const void *id) { *table = NULL; return 500; }

/* Whatever else the runtime wants to have at hand: it is refused when it is called. */
static int refused(void) { return refusal(); }

int cuGetProcAddress_v2(const char *name, void **out, int version, unsigned long long flags, int *status) {
    void *found = dlsym(RTLD_DEFAULT, name);
    *out = found ? found : (void *)refused;
    if (status) *status = 0;
    return 0;
}

int cuGetProcAddress(const char *name, void **out, int version, unsigned long long flags) {
    return cuGetProcAddress_v2(strcmp(name, "cuGetProcAddress") ? name : "cuGetProcAddress_v2", out, version, flags, NULL);
}
