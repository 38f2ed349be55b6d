/* The bare loop that our cost is compared with: the same system calls, and nothing besides.
 *
 * No clock, no tally, no content but what the buffer holds; names are written into a fixed buffer by hand, since the
 * aim is the cost of calls and not that of printf. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRANSFER_BYTES = 4096 };

static int fail(const char *what)
{
    perror(what);
    return 1;
}

/* One pwrite for each transfer, from the file's begin to its end. */
static int write_all(const char *path, long count)
{
    char *buffer = aligned_alloc(4096, TRANSFER_BYTES);
    int file = open(path, O_CREAT | O_RDWR, 0664);
    if (!buffer || file < 0)
        return fail(path);
    memset(buffer, 'x', TRANSFER_BYTES);
    for (long index = 0; index < count; index++)
        if (pwrite(file, buffer, TRANSFER_BYTES, index * TRANSFER_BYTES) != TRANSFER_BYTES)
            return fail("pwrite");
    return close(file) == 0 ? 0 : fail("close");
}

/* `file.` and the number, in decimal. */
static void name_of(long item, char *name)
{
    char digits[24];
    int length = 0;
    do
        digits[length++] = (char)('0' + item % 10);
    while (item /= 10);
    memcpy(name, "file.", 5);
    name += 5;
    while (length)
        *name++ = digits[--length];
    *name = 0;
}

static int one_item(char verb, int folder, const char *name)
{
    struct stat facts;
    int file;
    switch (verb) {
    case 'c':
        file = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
        return file < 0 ? -1 : close(file);
    case 's':
        return fstatat(folder, name, &facts, 0);
    default:
        return unlinkat(folder, name, 0);
    }
}

static int every_item(char verb, const char *path, long count)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    char name[64];
    if (folder < 0)
        return fail(path);
    for (long item = 0; item < count; item++) {
        name_of(item, name);
        if (one_item(verb, folder, name) < 0)
            return fail(name);
    }
    return 0;
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: %s write|create|stat|unlink PATH COUNT\n", words[0]);
        return 2;
    }
    long operations = atol(words[3]);
    return words[1][0] == 'w' ? write_all(words[2], operations) : every_item(words[1][0], words[2], operations);
}
