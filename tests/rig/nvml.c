/* A libnvidia-ml.so.1 that answers as NVML does, for a machine that FAKE_NVML describes: lines (or parts between semicolons) of the form
   key=value, or the path of a file that holds them. README.md beside this file lists the keys. `3.key=value` speaks of GPU 3 alone. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *Device;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } MemoryV2;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } Process;
typedef struct { unsigned char cluster[16]; unsigned status, clique; unsigned char state; } Fabric;
typedef struct { unsigned version; unsigned char cluster[16]; unsigned status, clique; unsigned char state; unsigned mask; } FabricV;

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, MIG = 1000 };

static char *described(void) {
    static char text[1 << 16];
    if (text[0]) return text;
    const char *given = getenv("FAKE_NVML");
    FILE *file = given ? fopen(given, "r") : NULL;
    size_t size = 0;
    if (file) { size = fread(text, 1, sizeof text - 2, file); fclose(file); }
    else if (given) { strncpy(text, given, sizeof text - 2); size = strlen(text); }
    text[size] = '\n';
    for (char *c = text; *c; c++) if (*c == ';') *c = '\n';
    return text;
}

static int look(const char *key, char *out, size_t room) {
    size_t length = strlen(key);
    for (const char *line = described(); *line; line = strchr(line, '\n') + 1) {
        while (*line == ' ' || *line == '\t') line++;
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            size_t size = strcspn(line + length + 1, "\n");
            if (size >= room) size = room - 1;
            memcpy(out, line + length + 1, size);
            out[size] = 0;
            return 1;
        }
    }
    return 0;
}

/* What is said of one GPU comes before what is said of all. */
static int get(int gpu, const char *key, char *out, size_t room) {
    char own[96];
    snprintf(own, sizeof own, "%d.%s", gpu, key);
    return (gpu >= 0 && look(own, out, room)) || look(key, out, room);
}

static long long number(int gpu, const char *key, long long otherwise) {
    char text[64];
    return get(gpu, key, text, sizeof text) ? strtoll(text, NULL, 0) : otherwise;
}

static void wait_ms(long long ms) {
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR) continue;
}

/* Every call goes through here: it may be slow, hang, or fail, on every GPU or on one. */
static int gate(int gpu, const char *call) {
    char key[96];
    snprintf(key, sizeof key, "hang.%s", call);
    if (number(gpu, key, 0) || (gpu >= 0 && number(gpu, "hang.all", 0))) wait_ms(3600000);
    snprintf(key, sizeof key, "slow.%s", call);
    wait_ms(number(gpu, key, 0));
    snprintf(key, sizeof key, "error.%s", call);
    return (int)number(gpu, key, gpu >= 0 ? number(gpu, "error.all", OK) : OK);
}

static int of(Device d) { return (int)((long)d - 1) % MIG; }
static int mig_of(Device d) { return (int)((long)d - 1) / MIG - 1; }
static Device handle(int gpu, int mig) { return (Device)(long)(1 + gpu + MIG * (mig + 1)); }

/* A number that is told only where the description has it; old GPUs refuse such questions. */
static int told(Device d, const char *key, long long *value) {
    int code = gate(of(d), key);
    char text[64];
    if (code) return code;
    if (!get(of(d), key, text, sizeof text)) return NOT_SUPPORTED;
    *value = strtoll(text, NULL, 0);
    return OK;
}

static int put(Device d, const char *key, unsigned *out) {
    long long value = 0;
    int code = told(d, key, &value);
    if (!code) *out = (unsigned)value;
    return code;
}

static const struct { int code; const char *words; } ERRORS[] = {
    {0, "Success"}, {1, "Uninitialized"}, {2, "Invalid Argument"}, {3, "Not Supported"}, {4, "Insufficient Permissions"},
    {5, "Already Initialized"}, {6, "Not Found"}, {7, "Insufficient Size"}, {8, "Insufficient External Power"}, {9, "Driver Not Loaded"},
    {10, "Timeout"}, {11, "Interrupt Request Issue"}, {12, "NVML Shared Library Not Found"}, {13, "Function Not Found"},
    {14, "Corrupted infoROM"}, {15, "GPU is lost"}, {16, "GPU requires restart"}, {17, "The operating system has blocked the request."},
    {18, "RM has detected an NVML/RM version mismatch."}, {19, "In use by another client"}, {20, "Insufficient Memory"}, {21, "No data"},
    {23, "Insufficient Resources"}, {25, "Version mismatch"}, {27, "Not Ready"}, {28, "No GPUs Found"}, {29, "Invalid State"}};

const char *nvmlErrorString(int code) {
    static char words[256];
    if (code == 18 && !look("words.18", words, sizeof words)) return "Driver/library version mismatch";
    if (code == 18) return words;
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++) if (ERRORS[i].code == code) return ERRORS[i].words;
    return "Unknown Error";
}

int nvmlInitWithFlags(unsigned flags) { return gate(-1, "init"); }
int nvmlInit_v2(void) { return gate(-1, "init"); }
int nvmlShutdown(void) { return OK; }

static int text(int gpu, const char *call, const char *otherwise, char *out, unsigned room) {
    int code = gate(gpu, call);
    if (!code && !get(gpu, call, out, room)) snprintf(out, room, "%s", otherwise);
    return code;
}

int nvmlSystemGetDriverVersion(char *out, unsigned room) { return text(-1, "driver", "580.95.05", out, room); }
int nvmlSystemGetNVMLVersion(char *out, unsigned room) { return text(-1, "nvml", "13.580.95.05", out, room); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = (int)number(-1, "cuda", 13000); return gate(-1, "cuda"); }
int nvmlSystemGetCudaDriverVersion(int *out) { return nvmlSystemGetCudaDriverVersion_v2(out); }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = (unsigned)number(-1, "gpus", 1); return gate(-1, "count"); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *out) {
    if (index >= number(-1, "gpus", 1)) return INVALID;
    *out = handle((int)index, -1);
    return gate((int)index, "handle");
}

int nvmlDeviceGetName(Device d, char *out, unsigned room) { return text(of(d), "name", "NVIDIA H100 80GB HBM3", out, room); }
int nvmlDeviceGetIndex(Device d, unsigned *out) { *out = (unsigned)of(d); return gate(of(d), "index"); }

int nvmlDeviceGetCudaComputeCapability(Device d, int *major, int *minor) {
    char cell[16];
    int code = text(of(d), "cc", "9.0", cell, sizeof cell);
    return !code && sscanf(cell, "%d.%d", major, minor) != 2 ? INVALID : code;
}

static int memory(Device d, unsigned long long *total, unsigned long long *used) {
    *total = (unsigned long long)number(of(d), "memory", 85520809984LL);
    *used = (unsigned long long)number(of(d), "used", 629145600LL);
    return gate(of(d), "memory");
}

int nvmlDeviceGetMemoryInfo(Device d, Memory *out) {
    int code = memory(d, &out->total, &out->used);
    out->free = out->total - out->used;
    return code;
}

int nvmlDeviceGetMemoryInfo_v2(Device d, MemoryV2 *out) {
    int code = memory(d, &out->total, &out->used);
    out->reserved = 0;
    out->free = out->total - out->used;
    return code;
}

int nvmlDeviceGetUUID(Device d, char *out, unsigned room) {
    char own[96], key[32], plain[96];
    int mig = mig_of(d), code = gate(of(d), "uuid");
    snprintf(plain, sizeof plain, "GPU-%08x-1111-2222-3333-444444444444", of(d) + 0xa0);
    if (mig < 0) { if (!get(of(d), "uuid", out, room)) snprintf(out, room, "%s", plain); return code; }
    snprintf(key, sizeof key, "mig.%d", mig);
    if (!get(of(d), key, own, sizeof own)) snprintf(own, sizeof own, "MIG-%08x-%04x-5555-6666-777777777777", of(d) + 0xa0, mig);
    snprintf(out, room, "%s", own);
    return code;
}

int nvmlDeviceGetPciInfo_v3(Device d, Pci *out) {
    char address[32], otherwise[32];
    int code;
    snprintf(otherwise, sizeof otherwise, "00000000:%02X:00.0", 0x10 + of(d));
    if ((code = text(of(d), "pci", otherwise, address, sizeof address))) return code;
    memset(out, 0, sizeof *out);
    if (sscanf(address, "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return INVALID;
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", out->domain, out->bus & 0xff, out->device & 0xff);
    out->id = (unsigned)number(of(d), "device_id", 0x233010de);
    return OK;
}

/* processes=PID:BYTES,PID:BYTES */
int nvmlDeviceGetComputeRunningProcesses_v3(Device d, unsigned *count, Process *out) {
    char list[1024] = "";
    int code = gate(of(d), "processes");
    unsigned found = 0;
    if (code) return code;
    get(of(d), "processes", list, sizeof list);
    for (char *rest = NULL, *each = strtok_r(list, ",", &rest); each; each = strtok_r(NULL, ",", &rest), found++) {
        Process one = {0, 0, 0xffffffff, 0xffffffff};
        sscanf(each, "%u:%llu", &one.pid, &one.used);
        if (out && found < *count) out[found] = one;
    }
    code = found > (out ? *count : 0) ? TOO_SMALL : OK;
    *count = found;
    return code;
}

int nvmlDeviceGetComputeRunningProcesses_v2(Device d, unsigned *count, Process *out) {
    return nvmlDeviceGetComputeRunningProcesses_v3(d, count, out);
}

int nvmlDeviceGetComputeMode(Device d, unsigned *out) { *out = (unsigned)number(of(d), "mode", 0); return gate(of(d), "mode"); }

int nvmlDeviceGetMigMode(Device d, unsigned *now, unsigned *pending) {
    int code = put(d, "mig", now);
    if (!code) *pending = (unsigned)number(of(d), "mig_pending", *now);
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(Device d, unsigned *out) { *out = number(of(d), "mig", -1) < 0 ? 0 : 7; return gate(of(d), "max_migs"); }

int nvmlDeviceGetMigDeviceHandleByIndex(Device d, unsigned index, Device *out) {
    int code = gate(of(d), "migs");
    if (code) return code;
    if (number(of(d), "mig", -1) < 0) return NOT_SUPPORTED;
    if (index >= number(of(d), "migs", 0)) return NOT_FOUND;
    *out = handle(of(d), (int)index);
    return OK;
}

int nvmlDeviceIsMigDeviceHandle(Device d, unsigned *out) { *out = mig_of(d) >= 0; return OK; }
int nvmlDeviceGetPersistenceMode(Device d, unsigned *out) { return put(d, "persistence", out); }

/* ecc: uncorrected since the driver started; ecc_ever: uncorrected of all times; corrected ones have `_corrected` behind. */
int nvmlDeviceGetTotalEccErrors(Device d, unsigned kind, unsigned counter, unsigned long long *out) {
    char key[32];
    long long value = 0;
    int code;
    if (number(of(d), "ecc", -1) < 0) return gate(of(d), "ecc") ? gate(of(d), "ecc") : NOT_SUPPORTED;
    snprintf(key, sizeof key, "%s%s", counter ? "ecc_ever" : "ecc", kind ? "" : "_corrected");
    code = strcmp(key, "ecc") ? gate(of(d), "ecc") : told(d, key, &value);
    *out = (unsigned long long)number(of(d), key, 0);
    return code;
}

int nvmlDeviceGetEccMode(Device d, unsigned *now, unsigned *pending) {
    *now = *pending = number(of(d), "ecc", -1) >= 0;
    return *now ? OK : NOT_SUPPORTED;
}

/* remap=CORRECTABLE,UNCORRECTABLE,PENDING,FAILURE */
int nvmlDeviceGetRemappedRows(Device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failure) {
    char list[64];
    int code = gate(of(d), "remap");
    if (code) return code;
    if (!get(of(d), "remap", list, sizeof list)) return NOT_SUPPORTED;
    return sscanf(list, "%u,%u,%u,%u", corrected, uncorrected, pending, failure) == 4 ? OK : INVALID;
}

int nvmlDeviceGetRetiredPagesPendingStatus(Device d, unsigned *out) { return put(d, "retired_pending", out); }

int nvmlDeviceGetCurrentClocksEventReasons(Device d, unsigned long long *out) {
    *out = (unsigned long long)number(of(d), "reasons", 1);
    return gate(of(d), "reasons");
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device d, unsigned long long *out) { return nvmlDeviceGetCurrentClocksEventReasons(d, out); }
int nvmlDeviceGetPowerManagementLimit(Device d, unsigned *out) { return put(d, "power", out); }
int nvmlDeviceGetPowerManagementDefaultLimit(Device d, unsigned *out) { return put(d, "power_default", out); }
int nvmlDeviceGetEnforcedPowerLimit(Device d, unsigned *out) { return put(d, "power", out); }
int nvmlDeviceGetCurrPcieLinkWidth(Device d, unsigned *out) { return put(d, "width", out); }
int nvmlDeviceGetMaxPcieLinkWidth(Device d, unsigned *out) { return put(d, "width_max", out); }
int nvmlDeviceGetCurrPcieLinkGeneration(Device d, unsigned *out) { return put(d, "generation", out); }
int nvmlDeviceGetMaxPcieLinkGeneration(Device d, unsigned *out) { return put(d, "generation_max", out); }

/* fabric=STATE,STATUS,HEALTH MASK; state 3 is completed, 2 in progress, 1 not started, 0 not supported */
static int fabric(Device d, unsigned *state, unsigned *status, unsigned *mask) {
    char list[64];
    int code = gate(of(d), "fabric");
    if (code) return code;
    if (!get(of(d), "fabric", list, sizeof list)) return NOT_SUPPORTED;
    *mask = 0;
    return sscanf(list, "%u,%u,%i", state, status, (int *)mask) >= 2 ? OK : INVALID;
}

int nvmlDeviceGetGpuFabricInfo(Device d, Fabric *out) {
    unsigned state = 0, mask = 0;
    int code = fabric(d, &state, &out->status, &mask);
    out->state = (unsigned char)state;
    return code;
}

int nvmlDeviceGetGpuFabricInfoV(Device d, FabricV *out) {
    unsigned state = 0;
    int code = fabric(d, &state, &out->status, &out->mask);
    out->state = (unsigned char)state;
    out->clique = 0;
    return code;
}

/* vgpu=LICENSED: a virtual GPU with (1) or without (0) its licence */
typedef struct {
    int code;
    unsigned state;
    char info[128], product[128];
    unsigned enabled;
    struct { unsigned year; unsigned short month, day, hour, min, sec; unsigned char status; } expiry;
} Feature;
typedef struct { int supported; unsigned count; Feature features[3]; } Features;

int nvmlDeviceGetVirtualizationMode(Device d, unsigned *mode) {
    char text[8];
    int code = gate(of(d), "virtualization");
    if (code) return code;
    *mode = get(of(d), "vgpu", text, sizeof text) ? 2 : 0;
    return OK;
}

int nvmlDeviceGetGridLicensableFeatures_v4(Device d, Features *out) {
    int code = gate(of(d), "licence");
    if (code) return code;
    memset(out, 0, sizeof *out);
    out->supported = 1;
    out->count = 1;
    out->features[0].state = (unsigned)number(of(d), "vgpu", 0);
    return OK;
}

/* nvlinks: how many links a GPU has; nvlinks_down: how many of them, from the first on, are inactive */
int nvmlDeviceGetNvLinkState(Device d, unsigned link, unsigned *active) {
    int code = gate(of(d), "nvlink");
    if (code) return code;
    if (link >= number(of(d), "nvlinks", 0)) return link < 18 && number(of(d), "nvlinks", 0) == 0 ? NOT_SUPPORTED : INVALID;
    *active = link >= number(of(d), "nvlinks_down", 0);
    return OK;
}

int nvmlDeviceGetP2PStatus(Device one, Device other, unsigned kind, unsigned *out) {
    *out = (unsigned)number(of(one), "p2p", 0);
    return gate(of(one), "p2p");
}
