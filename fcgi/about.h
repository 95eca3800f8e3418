/*
 * about.h - what the service is, for programs and people who want to use it.
 *
 * Pure: from the configuration, the scoreboard and two JSON files, which the
 * program holds, to text. In the files @name@ stands for a limit in force;
 * where that is a whole JSON string, for its number, elsewhere for words.
 */

#ifndef SANDBOX_ABOUT_H
#define SANDBOX_ABOUT_H

#include "config.h"
#include "scoreboard.h"
#include "text.h"

/* Append the body of /about. Without a warm zygote, which alone knows, what
 * it would say of Python is null. */
void about_print(const struct scoreboard *scoreboard,
                 const struct config *config, struct text *text);

/* Append the OpenAPI description of all paths. */
void about_openapi(const struct config *config, struct text *text);

/* Append the service as a tool for a language model: its parameters are the
 * members of a job in that description, without the key, which no model has. */
void about_tool(const struct config *config, struct text *text);

#endif
