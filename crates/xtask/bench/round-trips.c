/* The least that asks and answers over TCP: one byte there, one byte back. Nothing is timed and nothing is counted. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    char byte = 0;
    long left;
    if (argc != 4)
        return 2;
    to.sin_port = htons(atoi(argv[2]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    left = atol(argv[3]);
    if (!strcmp(argv[1], "answer")) {
        if (bind(fd, (void *)&to, sizeof to) || listen(fd, 1) || (fd = accept(fd, NULL, NULL)) < 0)
            return 1;
        while (recv(fd, &byte, 1, 0) == 1)
            if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
                return 1;
        return 0;
    }
    if (connect(fd, (void *)&to, sizeof to))
        return 1;
    while (left-- > 0)
        if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1 || recv(fd, &byte, 1, 0) != 1)
            return 1;
    return 0;
}
