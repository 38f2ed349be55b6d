/* The bare loops that our filebench personalities are compared with: their threads' system calls, and nothing besides.
 *
 * No clock, no tally, no report. Files are picked by a few shifts; where they come and go, each thread picks among its
 * own, so that nobody locks anything. Sizes are drawn as the scripts draw them (gamma of shape 1.5), data moves about in
 * 10 MiB a thread, and what is written is what lies there. Says how many operations it made, and the processor seconds
 * that they took. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ARENA_BYTES = 10 << 20, CHUNK_BYTES = 1 << 20, APPEND_BYTES = 16 << 10, WIDTH = 20 };

static int folder, files, threads, spool_log;
static double mean_bytes;
static unsigned char *exists;
static volatile int stopped;

struct user {
    pthread_t thread;
    char kind;
    int number;
    uint64_t state;
    long operations;
    char *arena;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t draw(struct user *user)
{
    user->state ^= user->state << 13;
    user->state ^= user->state >> 7;
    return user->state ^= user->state << 17;
}

static double unit(struct user *user)
{
    return ((draw(user) >> 11) + 0.5) / 9007199254740992.0;
}

/* Gamma of shape 1.5: an exponential one and half a squared normal one. */
static long size_of(struct user *user)
{
    double normal = sqrt(-2 * log(unit(user))) * cos(6.283185307179586 * unit(user));
    return (long)((-log(unit(user)) + normal * normal / 2) * mean_bytes / 1.5);
}

static void name_of(int file, char *name)
{
    sprintf(name, "%d/%d/%08d", file % WIDTH, file / WIDTH % WIDTH, file);
}

/* One of the user's own files that exists, or does not; where nobody makes or removes any, one of all. */
static int pick(struct user *user, int existing)
{
    if (user->kind == 'w')
        return (int)(draw(user) % (uint64_t)files);
    for (;;) {
        int file = (int)(draw(user) % (uint64_t)((files - user->number + threads - 1) / threads)) * threads + user->number;
        if (exists[file] == existing)
            return file;
    }
}

static char *place(struct user *user, long bytes)
{
    return user->arena + draw(user) % (uint64_t)((ARENA_BYTES - bytes) / 4096 + 1) * 4096;
}

static int opened(int file, int flags)
{
    char name[64];
    name_of(file, name);
    int number = openat(folder, name, flags | O_CLOEXEC, 0644);
    if (number < 0)
        fail(name);
    return number;
}

static void write_whole(struct user *user, int file, long bytes)
{
    for (long done = 0; done < bytes;) {
        long part = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
        if (pwrite(file, place(user, part), part, done) != part)
            fail("pwrite");
        done += part;
    }
}

static void read_whole(struct user *user, int file)
{
    long done = 0, part;
    do {
        part = pread(file, place(user, CHUNK_BYTES), CHUNK_BYTES, done);
        done += part;
    } while (part == CHUNK_BYTES);
}

static void append(struct user *user, int file)
{
    long bytes = (long)(draw(user) % (APPEND_BYTES + 1));
    struct iovec part = {place(user, bytes), bytes};
    if (pwritev2(file, &part, 1, -1, RWF_APPEND) != bytes)
        fail("pwritev2");
}

static void removed(struct user *user)
{
    char name[64];
    int file = pick(user, 1);
    name_of(file, name);
    if (unlinkat(folder, name, 0) < 0)
        fail(name);
    exists[file] = 0;
}

static void made(struct user *user, int file, int whole)
{
    int number = opened(file, O_CREAT | O_RDWR);
    if (whole)
        write_whole(user, number, size_of(user));
    else
        append(user, number), fsync(number);
    close(number);
    exists[file] = 1;
}

static void webserver(struct user *user)
{
    for (int page = 0; page < 10; page++) {
        int file = opened(pick(user, 1), O_RDONLY);
        read_whole(user, file);
        close(file);
    }
    append(user, spool_log);
    user->operations += 31;
}

static void fileserver(struct user *user)
{
    struct stat facts;
    char name[64];
    made(user, pick(user, 0), 1);
    int file = opened(pick(user, 1), O_RDWR);
    append(user, file);
    close(file);
    file = opened(pick(user, 1), O_RDWR);
    read_whole(user, file);
    close(file);
    removed(user);
    name_of(pick(user, 1), name);
    fstatat(folder, name, &facts, 0);
    user->operations += 11;
}

static void varmail(struct user *user)
{
    removed(user);
    made(user, pick(user, 0), 0);
    int file = opened(pick(user, 1), O_RDWR);
    read_whole(user, file);
    append(user, file);
    fsync(file);
    close(file);
    file = opened(pick(user, 1), O_RDWR);
    read_whole(user, file);
    close(file);
    user->operations += 13;
}

static void *run(void *argument)
{
    struct user *user = argument;
    while (!stopped)
        user->kind == 'w' ? webserver(user) : user->kind == 'f' ? fileserver(user) : varmail(user);
    return NULL;
}

static char *memory(int number)
{
    char *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED)
        fail("mmap");
    memset(arena, number + 1, ARENA_BYTES);
    return arena;
}

/* The tree: two levels of directories, and of every five files four (of webserver's all). */
static void lay(struct user *user)
{
    char name[64];
    for (int first = 0; first < WIDTH; first++)
        for (int second = -1; second < WIDTH; second++) {
            sprintf(name, second < 0 ? "%d" : "%d/%d", first, second);
            if (mkdirat(folder, name, 0755) < 0)
                fail(name);
        }
    for (int file = 0; file < files; file++) {
        if (user->kind != 'w' && draw(user) % 5 == 0)
            continue;
        made(user, file, 1);
    }
}

static double seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **words)
{
    if (count != 4 || !strchr("wfv", words[1][0])) {
        fprintf(stderr, "usage: %s webserver|fileserver|varmail EMPTY-FOLDER SECONDS\n", words[0]);
        return 2;
    }
    char kind = words[1][0];
    folder = open(words[2], O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        fail(words[2]);
    threads = kind == 'w' ? 100 : kind == 'f' ? 50 : 16;
    files = kind == 'f' ? 10000 : 1000;
    mean_bytes = kind == 'f' ? 131072 : 16384;
    exists = calloc(files, 1);
    struct user *users = calloc(threads, sizeof *users);
    for (int number = 0; number < threads; number++)
        users[number] = (struct user){.kind = kind, .number = number, .state = 88172645463325252u + 7919u * number,
                                      .arena = memory(number)};
    lay(users);
    spool_log = openat(folder, "log", O_CREAT | O_RDWR, 0644);
    double before = seconds();
    for (int number = 0; number < threads; number++)
        pthread_create(&users[number].thread, NULL, run, &users[number]);
    sleep(atoi(words[3]));
    stopped = 1;
    long operations = 0;
    for (int number = 0; number < threads; number++) {
        pthread_join(users[number].thread, NULL);
        operations += users[number].operations;
    }
    printf("%ld %.6f\n", operations, seconds() - before);
    return 0;
}
