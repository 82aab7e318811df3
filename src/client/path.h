/* ZooKeeper paths: what is allowed in them, taking them apart, and showing them safely.
 *
 * Mirrors PathUtils.validatePath of ZooKeeper and ZKPaths of Curator. Pure; includes nothing of
 * ZooKeeper, takes no lock, may be used on any thread.
 */
#ifndef CURATOR_PATH_H
#define CURATOR_PATH_H

#include <glib.h>

/* Longest path in bytes, chroot and namespace included. */
#define CURATOR_PATH_MAX_LENGTH 1024

/* Whether path can be the path of a lock: what Java's PathUtils accepts, and besides not "/", not
 * /zookeeper or below, valid UTF-8, not too long. FALSE with CURATOR_ERROR_INVALID_ARGUMENT.
 * libzookeeper checks less, and takes relative paths for something else, so check every path. */
gboolean curator_path_validate (const char *path, GError **error);

/* Whether "/namespace_" would pass. A namespace has no slash at either end: "apps/billing". */
gboolean curator_namespace_validate (const char *namespace_, GError **error);

/* ZKPaths.makePath: one slash in front and between, none behind; NULL counts as "". */
char *curator_path_join (const char *parent, const char *child);

/* The path without its last part; "/" for "/" and for "/a". */
char *curator_path_parent (const char *path);

/* ZKPaths.getNodeFromPath: what follows the last slash, or all; borrowed from path. */
const char *curator_path_leaf (const char *path);

/* Whether name is prefix and a sequence number of ten digits behind it. */
gboolean curator_path_is_numbered (const char *name, const char *prefix);

/* name for a message: bytes that are not printable UTF-8, and the backslash, become \xNN. The
 * result is valid UTF-8 without a newline or an escape sequence; '%' stays, so it must never be a
 * format. "(null)" for NULL. */
char *curator_path_escape (const char *name);

#endif
