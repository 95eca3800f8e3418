/*
 * title.h - the name that ps shows, as nginx's and php-fpm's processes do.
 */

#ifndef SANDBOX_TITLE_H
#define SANDBOX_TITLE_H

/*
 * Once, at the start of main: take the memory of the arguments and of the
 * environment for titles. Afterwards argv's strings must not be read; the
 * environment has been moved and works as before.
 */
void title_init(int argc, char **argv);

/* Show title, cut to the room there is. */
void title_set(const char *title);

#endif
