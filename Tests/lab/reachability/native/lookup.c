// The floor of a look-up: asks the kernel for the route to each of some addresses by RTM_GETROUTE, over and over on one
// socket, and does nothing with the answers. Prints the processor time of one, in nanoseconds.
//
//     lookup ROUNDS ADDRESS...
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct question {
    struct nlmsghdr header;
    struct rtmsg route;
    char attributes[RTA_SPACE(sizeof(struct in6_addr))];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t processor_time(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static struct question ask_for(const char *text) {
    struct question question = {
        .header = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        .route = {.rtm_family = strchr(text, ':') ? AF_INET6 : AF_INET},
    };
    size_t size = question.route.rtm_family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
    struct rtattr *destination = (struct rtattr *)question.attributes;
    destination->rta_type = RTA_DST;
    destination->rta_len = RTA_LENGTH(size);
    if (inet_pton(question.route.rtm_family, text, RTA_DATA(destination)) != 1) {
        fprintf(stderr, "lookup: '%s' is no address\n", text);
        exit(2);
    }
    question.route.rtm_dst_len = (unsigned char)(8 * size);
    question.header.nlmsg_len = NLMSG_LENGTH(sizeof question.route) + RTA_SPACE(size);
    return question;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: lookup ROUNDS ADDRESS...\n");
        return 2;
    }
    long rounds = strtol(arguments[1], NULL, 10);
    int addresses = count - 2;
    struct question *questions = calloc((size_t)addresses, sizeof *questions);
    if (!questions) fail("calloc");
    for (int i = 0; i < addresses; i++) questions[i] = ask_for(arguments[i + 2]);

    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) fail("socket");
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    static char answer[1 << 15];
    int64_t before = processor_time();
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < addresses; i++) {
            questions[i].header.nlmsg_seq++;
            if (sendto(descriptor, &questions[i], questions[i].header.nlmsg_len, 0, (struct sockaddr *)&kernel,
                       sizeof kernel) < 0)
                fail("sendto");
            if (recv(descriptor, answer, sizeof answer, 0) < 0) fail("recv");
        }
    }
    if (rounds > 0) printf("%lld\n", (long long)((processor_time() - before) / (rounds * addresses)));
    return 0;
}
