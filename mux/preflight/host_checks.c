/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/protection.h"
#include "host/port.h"

enum { BGP_PORT = 179, TCP_ESTABLISHED_STATE = 1, TCP_LISTEN_STATE = 10 };

static bool has_port(const struct options *options, const char *start)
{
	for (unsigned i = 0; i < options->ports_count; i++)
		if (!strncmp(options->ports[i], start, strlen(start)))
			return true;
	return false;
}

static bool has_pci(const struct options *options)
{
	for (unsigned i = 0; i < options->ports_count; i++)
		if (port_is_pci(options->ports[i]))
			return true;
	return false;
}

/* Whether any amount of memory can be locked without CAP_IPC_LOCK; the mux raises its limit as far as allowed. */
static bool may_pin(void)
{
	struct rlimit limit = {0};

	return !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_max == RLIM_INFINITY;
}

static bool has_capability(const uint32_t effective[2], unsigned capability)
{
	return effective[capability / 32] >> (capability % 32) & 1;
}

/* Root has all capabilities; a service that runs as another user needs these. */
static void check_privileges(struct preflight *preflight, const struct options *options)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};
	uint32_t effective[2];
	char lacks[96] = "";
	int tun;

	if (syscall(SYS_capget, &header, data)) {
		preflight_add(preflight, "privileges", NULL, PREFLIGHT_WARN, "can't be read: %s", strerror(errno));
		return;
	}
	effective[0] = data[0].effective;
	effective[1] = data[1].effective;
	if (!has_capability(effective, CAP_NET_ADMIN))
		strcat(lacks, " CAP_NET_ADMIN");
	if (!has_capability(effective, CAP_NET_RAW))
		strcat(lacks, " CAP_NET_RAW");
	/* XDP programs and maps are found by id, which the kernel allows only with this capability */
	if (has_port(options, "af_xdp:") && !has_capability(effective, CAP_SYS_ADMIN))
		strcat(lacks, " CAP_SYS_ADMIN");
	/* memory shared with the kernel or the device is pinned */
	if ((has_port(options, "af_xdp:") || has_pci(options)) && !has_capability(effective, CAP_IPC_LOCK) &&
	    !may_pin())
		strcat(lacks, " CAP_IPC_LOCK");
	if (*lacks)
		preflight_add(preflight, "privileges", NULL, PREFLIGHT_FAIL, "the process lacks%s; see docs/mux.md",
			      lacks);
	else
		preflight_add(preflight, "privileges", NULL, PREFLIGHT_OK, "sufficient for the ports");
	if (options->announce != ANNOUNCE_TUN)
		return;
	tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (tun < 0)
		preflight_add(preflight, "tun", NULL, PREFLIGHT_FAIL,
			      "/dev/net/tun can't be opened: %s; announcing VIPs needs it (modprobe tun)",
			      strerror(errno));
	else
		preflight_add(preflight, "tun", NULL, PREFLIGHT_OK, "/dev/net/tun can be opened");
	if (tun >= 0)
		close(tun);
}

/* The number that a file contains; 0 if there is none. */
static long read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	long number = 0;

	if (file && fscanf(file, "%ld", &number) != 1)
		number = 0;
	if (file)
		fclose(file);
	return number;
}

/* Free huge pages of all sizes, in MB. *size: the default page size, in KB. */
static long free_hugepages(long *size)
{
	static const char folder[] = "/sys/kernel/mm/hugepages";
	DIR *sizes = opendir(folder);
	FILE *file = fopen("/proc/meminfo", "re");
	struct dirent *entry;
	char line[512];
	long room = 0, kb;

	*size = 0;
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Hugepagesize: %ld kB", size);
	if (file)
		fclose(file);
	while (sizes && (entry = readdir(sizes))) {
		if (sscanf(entry->d_name, "hugepages-%ldkB", &kb) != 1)
			continue;
		snprintf(line, sizeof(line), "%s/%s/free_hugepages", folder, entry->d_name);
		room += read_number(line) * kb / 1024;
	}
	if (sizes)
		closedir(sizes);
	return room;
}

static void check_hugepages(struct preflight *preflight, const struct options *options)
{
	long size, room = free_hugepages(&size);
	bool is_pci = has_pci(options);

	if (options->no_huge)
		preflight_add(preflight, "hugepages", NULL, is_pci ? PREFLIGHT_WARN : PREFLIGHT_OK,
			      "not used: --no-huge%s",
			      is_pci ? "; a PCI device is slower without them, and needs an IOMMU" : "");
	else if (!size)
		preflight_add(preflight, "hugepages", NULL, PREFLIGHT_FAIL,
			      "this kernel has none; --no-huge does without them");
	else if (room < (long)options->memory)
		preflight_add(preflight, "hugepages", NULL, PREFLIGHT_FAIL,
			      "%ld MB are free, --memory wants %u (a running mux uses some); "
			      "sysctl vm.nr_hugepages=%ld makes them, --no-huge does without",
			      room, options->memory, (options->memory * 1024L + size - 1) / size);
	else
		preflight_add(preflight, "hugepages", NULL, PREFLIGHT_OK, "%ld MB are free, --memory wants %u", room,
			      options->memory);
}

/* Counts the BGP sockets of this network namespace, in addition to the counts passed. */
static void count_bgp(const char *path, unsigned *listening, unsigned *established)
{
	FILE *file = fopen(path, "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned local, remote, state;

		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %x", &local, &remote, &state) != 3)
			continue;
		*listening += local == BGP_PORT && state == TCP_LISTEN_STATE;
		*established += (local == BGP_PORT || remote == BGP_PORT) && state == TCP_ESTABLISHED_STATE;
	}
	if (file)
		fclose(file);
}

/* Any BGP daemon in this network namespace is accepted. */
static void check_bgp(struct preflight *preflight, const struct options *options)
{
	unsigned listening = 0, established = 0;

	if (options->announce == ANNOUNCE_NONE) {
		preflight_add(preflight, "bgp", NULL, PREFLIGHT_OK, "not asked for: --announce none");
		return;
	}
	count_bgp("/proc/net/tcp", &listening, &established);
	count_bgp("/proc/net/tcp6", &listening, &established);
	if (established)
		preflight_add(preflight, "bgp", NULL, PREFLIGHT_OK, "%u session%s established", established,
			      established == 1 ? " is" : "s are");
	else if (listening)
		preflight_add(preflight, "bgp", NULL, PREFLIGHT_WARN,
			      "a daemon listens, but no session is established: no router learns of the VIPs yet");
	else
		preflight_add(preflight, "bgp", NULL, PREFLIGHT_WARN,
			      "no daemon listens on TCP port %d and no session is established: no router learns of the "
			      "VIPs (scripts/frr-config writes FRR's configuration)",
			      BGP_PORT);
}

/* A mux without it serves as well, but starts with nothing while ZooKeeper is down. */
static void check_state(struct preflight *preflight, const struct options *options)
{
	const char *folder = options->state_dir;

	if (!*folder)
		preflight_add(preflight, "state", NULL, PREFLIGHT_OK, "not asked for: --state-dir none");
	else if (faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS))
		preflight_add(preflight, "state", NULL, PREFLIGHT_WARN,
			      "--state-dir %s: %s; without it a start during an outage of ZooKeeper serves nothing",
			      folder, strerror(errno));
	else
		preflight_add(preflight, "state", NULL, PREFLIGHT_OK, "%s can be written", folder);
}

static void check_http(struct preflight *preflight, const struct options *options)
{
	struct sockaddr_storage address;
	struct reason why = {""};
	socklen_t len;

	if (!*options->http.socket && http_access_resolve(&options->http, &address, &len, &why))
		preflight_add(preflight, "http", NULL, PREFLIGHT_FAIL, "%s", why.text);
	else
		preflight_add(preflight, "http", NULL, PREFLIGHT_OK, "%s",
			      *options->http.socket        ? "a Unix socket"
			      : *options->http.certificate ? "TLS"
			      : !options->http.open        ? "a loopback address"
			      : *options->http.tokens      ? "tokens travel in clear text: --http-open on"
							   : "open to everyone: --http-open on");
}

/* It runs as well; who reaches it or its network can do more than in a hardened cluster. */
static void check_protection(struct preflight *preflight, const struct options *options)
{
	unsigned missing = options_unprotected(options);
	char text[PREFLIGHT_TEXT_MAX] = "";

	for (enum protection i = 0; i < PROTECTIONS; i++) {
		size_t len = strlen(text);

		if (missing >> i & 1)
			snprintf(text + len, sizeof(text) - len, "%s%s (%s)", len ? ", " : "", protections[i].name,
				 protections[i].remedy);
	}
	if (missing)
		preflight_add(preflight, "protection", NULL, PREFLIGHT_WARN, "missing: %s; see docs/security.md", text);
	else
		preflight_add(preflight, "protection", NULL, PREFLIGHT_OK, "nothing is missing");
}

void preflight_host(struct preflight *preflight, const struct options *options)
{
	check_privileges(preflight, options);
	check_hugepages(preflight, options);
	check_state(preflight, options);
	check_http(preflight, options);
	check_protection(preflight, options);
	check_bgp(preflight, options);
	for (unsigned i = 0; i < options->ports_count; i++)
		preflight_port(preflight, options, options->ports[i]);
}
