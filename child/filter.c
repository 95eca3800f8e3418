#include "filter.h"

#include "die.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * What is not named here answers ENOSYS, as a kernel would that is too old
 * for it; libraries know how to go on from there. So does clone3, whose flags
 * are out of a filter's sight: glibc then calls clone.
 */
#define ALLOW SCMP_ACT_ALLOW
#define REFUSE SCMP_ACT_ERRNO(EPERM)   /* a library may try it: tell it no */
#define MISSING SCMP_ACT_ERRNO(ENOSYS) /* the default */
#define NO_FAMILY SCMP_ACT_ERRNO(EAFNOSUPPORT)
#define KILL SCMP_ACT_KILL_PROCESS     /* nothing honest calls it */
#define SET_UP 0                       /* refused once a child is set up */

struct rule {
    const char *names;  /* system calls, blanks between them */
    uint32_t action;
    const char *why;
};

static const struct rule rules[] = {
    /* Files: below the run's own root, which decides what there is. */
    {"read write readv writev pread64 pwrite64 preadv pwritev preadv2 "
     "pwritev2 lseek close close_range", ALLOW, "open files"},
    {"open openat openat2 creat stat lstat fstat newfstatat statx access "
     "faccessat faccessat2 readlink readlinkat getdents getdents64 statfs "
     "fstatfs", ALLOW, "files by name"},
    {"mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link "
     "linkat symlink symlinkat truncate ftruncate fallocate chmod fchmod "
     "fchmodat fchmodat2 chown fchown lchown fchownat utime utimes utimensat "
     "futimesat umask chdir fchdir getcwd", ALLOW, "shutil, tempfile, zipfile"},
    {"dup dup2 dup3 pipe pipe2 sendfile copy_file_range fsync fdatasync "
     "sync_file_range fadvise64 readahead", ALLOW,
     "subprocess, shutil, sqlite3"},
    {"poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl "
     "epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 timerfd_create "
     "timerfd_settime timerfd_gettime signalfd signalfd4", ALLOW,
     "asyncio, selectors"},
    {"getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr", ALLOW,
     "shutil.copystat looks for attributes"},
    {"setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr",
     REFUSE, "and goes on when it may not set them"},

    {"flock", REFUSE, "on a file that all runs see, two could meet in it"},

    /* Memory; mmap below. Writable code stays possible: libffi's closures need it. */
    {"munmap mprotect mremap brk madvise msync mincore mlock munlock "
     "mlock2 mlockall munlockall membarrier rseq get_mempolicy", ALLOW,
     "malloc, mmap, BLAS"},
    {"memfd_create", SET_UP, "the zygote's memory"},
    {"memfd_secret process_madvise process_mrelease userfaultfd "
     "pkey_alloc pkey_free pkey_mprotect remap_file_pages set_mempolicy "
     "mbind", REFUSE,
     "memory outside the run's bounds, and levers for exploits"},

    /* Processes and threads of the run; its pid namespace has no others. */
    {"fork vfork execve execveat exit exit_group wait4 waitid kill tkill "
     "tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal",
     ALLOW, "subprocess, multiprocessing"},
    {"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend "
     "rt_sigtimedwait sigaltstack pause alarm setitimer getitimer "
     "restart_syscall", ALLOW, "signal"},
    {"set_tid_address set_robust_list get_robust_list futex futex_waitv "
     "arch_prctl gettid getpid getppid getpgid getpgrp setpgid getsid setsid "
     "sched_yield sched_getaffinity sched_getparam sched_getscheduler "
     "sched_get_priority_max sched_get_priority_min sched_rr_get_interval "
     "getcpu getpriority", ALLOW, "threads"},
    {"timer_create timer_settime timer_gettime timer_getoverrun timer_delete "
     "nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time "
     "times getrusage getrlimit setrlimit sysinfo uname getrandom", ALLOW, "time, os"},
    {"getuid geteuid getgid getegid getresuid getresgid getgroups capget",
     ALLOW, "who am I"},
    {"setuid setgid setreuid setregid setfsuid setfsgid setgroups", REFUSE,
     "there is nobody else to become"},
    {"setresuid setresgid capset", SET_UP, "to become a run, with no power"},
    {"setpriority sched_setaffinity sched_setparam sched_setscheduler "
     "sched_setattr sched_getattr ioprio_set ioprio_get", REFUSE,
     "a run's share is not the run's to choose"},

    /* Unix sockets alone (below); they meet nobody outside the run. */
    {"accept accept4 shutdown sendto recvfrom sendmsg recvmsg sendmmsg "
     "recvmmsg getsockname getpeername getsockopt", ALLOW,
     "asyncio, multiprocessing"},

    /* What makes and changes namespaces, mounts and the machine. */
    {"unshare setns mount move_mount fsopen fsconfig fsmount", SET_UP,
     "a child's namespaces, its tmpfs and its /proc"},
    {"umount2 pivot_root chroot mount_setattr open_tree fspick listmount "
     "statmount swapon swapoff sethostname setdomainname quotactl "
     "quotactl_fd", REFUSE, "its world is given"},
    {"mknod mknodat", REFUSE, "devices and fifos (os.mkfifo is told so)"},
    {"name_to_handle_at open_by_handle_at", REFUSE,
     "files past the mount view"},
    {"perf_event_open syslog acct reboot clock_settime clock_adjtime "
     "settimeofday adjtimex iopl ioperm modify_ldt vhangup personality "
     "lookup_dcookie kcmp pidfd_getfd", REFUSE,
     "the machine is not the run's"},
    {"landlock_create_ruleset landlock_add_rule landlock_restrict_self "
     "seccomp", SET_UP, "to give up more"},
    {"shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd "
     "msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify "
     "mq_getsetattr", REFUSE, "kernel memory that no limit counts"},
    {"inotify_init inotify_init1 inotify_add_watch inotify_rm_watch "
     "fanotify_init fanotify_mark", REFUSE, "quotas shared between runs"},
    {"io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy "
     "splice tee vmsplice migrate_pages move_pages set_mempolicy_home_node",
     REFUSE, "kernel surface without need"},

    {"ptrace process_vm_readv process_vm_writev", KILL, "exploits"},
    {"bpf", KILL, "exploits"},
    {"add_key request_key keyctl", KILL,
     "keyrings are shared past every namespace"},
    {"kexec_load kexec_file_load init_module finit_module delete_module",
     KILL, "another kernel"},
    {"io_uring_setup io_uring_enter io_uring_register", KILL,
     "does system calls that no filter sees"},
};

/* What a child sets of itself, and then may not any more. */
static const uint64_t set_up_prctls[] = {
    PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS,
    PR_SET_DUMPABLE,
};

static scmp_filter_ctx context;
static struct sock_fprog rest;  /* the second filter, for each child */

static void
add(uint32_t action, int number, unsigned int count,
    const struct scmp_arg_cmp *arguments)
{
    int rc = seccomp_rule_add_array(context, action, number, count, arguments);

    if (rc < 0)
        die("cannot add system call %d to the filter: %s", number,
            strerrordesc_np(-rc));
}

/* One condition on one argument. */
static void
add_if(uint32_t action, int number, unsigned int argument,
       enum scmp_compare compare, uint64_t a, uint64_t b)
{
    const struct scmp_arg_cmp condition = {argument, compare, a, b};

    add(action, number, 1, &condition);
}

/* Once for each filter: is_rest for the second. */
static void
add_rule(const struct rule *rule, bool is_rest)
{
    uint32_t action = rule->action != SET_UP ? rule->action
                                             : is_rest ? REFUSE : ALLOW;
    char names[1024], *next = names, *name;

    if (is_rest && rule->action != SET_UP)
        return;
    snprintf(names, sizeof(names), "%s", rule->names);
    while ((name = strsep(&next, " ")) != NULL) {
        int number = seccomp_syscall_resolve_name(name);

        /* A name that this libseccomp does not know yet is not allowed
         * either: it stays at the default. */
        if (number >= 0)
            add(action, number, 0, NULL);
    }
}

/* Do so with number when its argument is one of the values. */
static void
add_values(uint32_t action, int number, unsigned int argument,
           const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_if(action, number, argument, SCMP_CMP_MASKED_EQ, 0xffffffff,
               values[i]);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int with_families[] = {SCMP_SYS(socket), SCMP_SYS(socketpair)};

static void
add_unix_sockets(uint32_t action)
{
    static const int with_names[] = {
        SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(listen),
    };

    for (size_t i = 0; i < COUNT(with_families); i++)
        add_if(action, with_families[i], 0, SCMP_CMP_MASKED_EQ, 0xffffffff,
               AF_UNIX);
    for (size_t i = 0; i < COUNT(with_names); i++)
        add(action, with_names[i], 0, NULL);
}

/*
 * The calls whose arguments matter. Of each only the 32 bits count that the
 * kernel looks at: what stands above them must not change the answer.
 */
static void
add_checked(void)
{
    /* No new namespace of any kind. */
    const uint64_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                CLONE_NEWNET | CLONE_NEWTIME;
    const uint64_t no_mapping = MAP_SHARED | MAP_ANONYMOUS;
    const uint64_t mappings[] = {0, MAP_SHARED, MAP_ANONYMOUS, no_mapping};
    /* What terminals and files are asked; TIOCSTI and the like are not. */
    static const uint64_t ioctls[] = {
        TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGPGRP,
    };
    static const uint64_t prctls[] = {
        PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_GET_PDEATHSIG,
        PR_GET_NO_NEW_PRIVS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
        PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_GET_SECCOMP, PR_SET_VMA,
    };
    /* Locks and flags; not the size of pipes, leases, notifications. Nor who
     * else holds a lock: a file that all runs see takes read locks alone,
     * which never meet, but two runs could ask for each other's. */
    static const uint64_t fcntls[] = {
        F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL,
        F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW,
        F_GETOWN, F_SETOWN, F_GETPIPE_SZ, F_ADD_SEALS,
    };
    /* Not the buffers' sizes: they pin kernel memory that no limit counts. */
    static const uint64_t options[] = {
        SO_REUSEADDR, SO_REUSEPORT, SO_KEEPALIVE, SO_LINGER, SO_PASSCRED,
        SO_RCVTIMEO, SO_SNDTIMEO, SO_BROADCAST, SO_OOBINLINE,
    };

    /* No shared memory but in the run's own tmpfs, which bounds it: what is
     * unmapped of an anonymous object stays, and no limit counts it. */
    for (size_t i = 0; i < COUNT(mappings); i++)
        add_if(mappings[i] == no_mapping ? REFUSE : ALLOW, SCMP_SYS(mmap), 3,
               SCMP_CMP_MASKED_EQ, no_mapping, mappings[i]);
    add_if(ALLOW, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, namespaces, 0);
    for (uint64_t bit = 1; bit <= namespaces; bit <<= 1)
        if (namespaces & bit)
            add_if(REFUSE, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, bit, bit);
    add_unix_sockets(ALLOW);
    for (size_t i = 0; i < COUNT(with_families); i++)
        add_if(NO_FAMILY, with_families[i], 0, SCMP_CMP_NE, AF_UNIX, 0);
    add_values(ALLOW, SCMP_SYS(ioctl), 1, ioctls, COUNT(ioctls));
    add_values(ALLOW, SCMP_SYS(prctl), 0, prctls, COUNT(prctls));
    add_values(ALLOW, SCMP_SYS(prctl), 0, set_up_prctls, COUNT(set_up_prctls));
    add_values(ALLOW, SCMP_SYS(fcntl), 1, fcntls, COUNT(fcntls));
    add_values(ALLOW, SCMP_SYS(setsockopt), 2, options, COUNT(options));
    /* To ask for limits, and to lower one's own. */
    add_if(ALLOW, SCMP_SYS(prlimit64), 2, SCMP_CMP_EQ, 0, 0);
    add_if(ALLOW, SCMP_SYS(prlimit64), 0, SCMP_CMP_MASKED_EQ, 0xffffffff, 0);
}

static void
start_context(uint32_t default_action)
{
    context = seccomp_init(default_action);
    /* Another ABI has other numbers: no way around the table. */
    if (context == NULL ||
        seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, KILL) != 0 ||
        seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
        die("cannot start a filter");
}

/* Compile what the context holds, by way of a file, as libseccomp wants it. */
static struct sock_fprog
compile(void)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    struct sock_fprog program;
    off_t size;
    int rc;

    if (fd == -1)
        die("cannot make a memory file: %m");
    rc = seccomp_export_bpf(context, fd);
    if (rc != 0)
        die("cannot compile the filter: %s", strerrordesc_np(-rc));
    seccomp_release(context);
    size = lseek(fd, 0, SEEK_END);
    program.filter = malloc((size_t)size);
    if (size <= 0 || program.filter == NULL ||
        pread(fd, program.filter, (size_t)size, 0) != (ssize_t)size)
        die("cannot read the compiled filter: %m");
    program.len = (unsigned short)((size_t)size / sizeof(*program.filter));
    close(fd);
    return program;
}

static void
install(const struct sock_fprog *program)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program) == -1)
        die("cannot install the system call filter: %m");
}

void
filter_start(bool allow_sockets)
{
    struct sock_fprog first;

    start_context(MISSING);
    for (size_t i = 0; i < COUNT(rules); i++)
        add_rule(&rules[i], false);
    add_checked();
    first = compile();
    start_context(ALLOW);
    for (size_t i = 0; i < COUNT(rules); i++)
        add_rule(&rules[i], true);
    add_values(REFUSE, SCMP_SYS(prctl), 0, set_up_prctls,
               COUNT(set_up_prctls));
    if (!allow_sockets)
        add_unix_sockets(REFUSE);
    rest = compile();
    install(&first);
    free(first.filter);
}

void
filter_finish(void)
{
    install(&rest);
}
