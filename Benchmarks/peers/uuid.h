#ifndef UUID_H
#define UUID_H

/* A fresh version 4 UUID, in text. */
void make_uuid(char text[37]);

#endif
