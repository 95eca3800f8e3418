/*
 * The least that a FastCGI responder can do, for comparison: the body of the
 * request back, or, for ?N, N bytes of the base64 alphabet.
 *
 *     echo SOCKET
 */

#include <fcgiapp.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    static char bytes[1 << 16];
    FCGX_Request request;
    int listen_fd;

    memset(bytes, 'A', sizeof(bytes));
    if (argc != 2 || FCGX_Init() != 0 ||
        (listen_fd = FCGX_OpenSocket(argv[1], 511)) == -1 ||
        FCGX_InitRequest(&request, listen_fd, 0) != 0)
        return 1;
    while (FCGX_Accept_r(&request) == 0) {
        long left = atol(FCGX_GetParam("QUERY_STRING", request.envp));
        int len;

        FCGX_PutS("Content-Type: application/json\r\n\r\n", request.out);
        for (; left > 0; left -= len) {
            len = left < (long)sizeof(bytes) ? (int)left : (int)sizeof(bytes);
            FCGX_PutStr(bytes, len, request.out);
        }
        while ((len = FCGX_GetStr(bytes, sizeof(bytes), request.in)) > 0)
            FCGX_PutStr(bytes, len, request.out);
        FCGX_Finish_r(&request);
    }
    return 0;
}
