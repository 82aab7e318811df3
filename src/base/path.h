#pragma once

#include <glib.h>

/* Longest path in bytes, chroot and namespace included. */
#define CURATOR_PATH_MAX_LENGTH 1024

/* Whether path can be the path of a lock: Java's PathUtils accepts it, and it is valid UTF-8, not
 * too long, not "/", and not /zookeeper or below. FALSE with CURATOR_ERROR_INVALID_ARGUMENT. Check
 * every path: libzookeeper checks less. */
gboolean curator_path_validate (const char *path, GError **error);

/* Whether "/namespace_" is valid. A namespace has no slash at either end: "apps/billing". */
gboolean curator_namespace_validate (const char *namespace_, GError **error);

/* ZKPaths.makePath: one slash before each part, none at the end. NULL counts as "". */
char *curator_path_join (const char *parent, const char *child);

/* The path without its last part; "/" for "/" and for "/a". */
char *curator_path_parent (const char *path);

/* ZKPaths.getNodeFromPath: the part after the last slash, or all of path; points into path. */
const char *curator_path_leaf (const char *path);

/* Whether name is prefix followed by a sequence number of ten digits. */
gboolean curator_path_is_numbered (const char *name, const char *prefix);

/* name for a message: a backslash and every byte that is not printable UTF-8 become \xNN. The
 * result is valid UTF-8 on one line. It keeps '%', so never use it as a format. "(null)" for NULL.
 * */
char *curator_path_escape (const char *name);
