/* A host and a client that do nothing but hand on bytes: what two processes and a socket between a terminal and a program
 * cost by themselves. latency.py compiles it.
 *
 * usage: relay host SOCKET PROGRAM [ARGUMENT...]    waits for one client, and gives it a terminal with the program
 *        relay client SOCKET                         gives it this terminal
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

static void hand_on(int from, int to) {
    char bytes[65536];
    ssize_t count = read(from, bytes, sizeof bytes);
    if (count <= 0 || write(to, bytes, count) != count) exit(0);
}

static void relay(int in, int out, int there) {
    struct pollfd both[2] = {{in, POLLIN, 0}, {there, POLLIN, 0}};
    while (poll(both, 2, -1) > 0) {
        if (both[0].revents) hand_on(in, there);
        if (both[1].revents) hand_on(there, out);
    }
}

int main(int count, char **words) {
    if (count < 3 || strlen(words[2]) >= sizeof ((struct sockaddr_un *)0)->sun_path) return 2;
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    strcpy(place.sun_path, words[2]);
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (strcmp(words[1], "host") == 0 && count > 3) {
        struct winsize size = {40, 120, 0, 0};
        int terminal;
        if (bind(end, (void *)&place, sizeof place) || listen(end, 1)) return 1;
        int client = accept(end, 0, 0);
        if (forkpty(&terminal, 0, 0, &size) == 0) {
            execvp(words[3], words + 3);
            _exit(1);
        }
        relay(client, client, terminal);
    } else {
        struct termios raw;
        for (int tries = 0; connect(end, (void *)&place, sizeof place); tries++) {
            if (tries == 500) return 1;
            usleep(10000);
        }
        if (tcgetattr(0, &raw)) return 1;
        cfmakeraw(&raw);
        tcsetattr(0, TCSANOW, &raw);
        relay(0, 1, end);
    }
    return 0;
}
