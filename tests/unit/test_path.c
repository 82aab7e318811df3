/* Paths: those that Java accepts and refuses, and the escaping of untrusted names. Any bytes:
 * fuzz/fuzz_path and fuzz_escape. */
#include "unit.h"

#include "base/path.h"
#include "curator/error.h"

#include <string.h>

static const char *const good[] = {
  "/a",           "/jobs/nightly",          "/.a/..b/c.", "/...",
  "/zookeeper2",  "/a/zookeeper",           "/zookeepe",  "/ ",
  "/a b/%s%n/\\", "/\xc3\xa4/\xe4\xb8\xad", /* U+00E4, U+4E2D */
};

static const char *const bad[] = {
  "",      "/",      "a",         "a/b",        "/a/",
  "//",    "//a",    "/a//b",     "/.",         "/..",
  "/a/.",  "/a/./b", "/a/../b",   "/zookeeper", "/zookeeper/quota",
  "/a\nb", "/\x01",  "/\x1f",     "/a\x7f",     "/\xed\xa0\x80", /* a surrogate */
  "/\xff", "/\xc3",  "/\xc0\xaf",                                /* an overlong slash */
};

static void
check_refused (const char *path)
{
  g_autoptr (GError) error = NULL;

  if (curator_path_validate (path, &error))
    fail_msg ("\"%s\" was accepted", path);
  assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT));
  assert_true (g_utf8_validate (error->message, -1, NULL));
  assert_true (strlen (error->message) < 1200);
  for (const char *c = error->message; *c != '\0'; c++)
    assert_false (g_ascii_iscntrl (*c));
}

TEST (test_validate)
{
  for (guint i = 0; i < G_N_ELEMENTS (good); i++) {
    g_autoptr (GError) error = NULL;

    if (!curator_path_validate (good[i], &error))
      fail_msg ("%s", error->message);
    assert_null (error);
  }
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    check_refused (bad[i]);
  check_refused (NULL);
  assert_false (curator_path_validate ("a", NULL));
}

TEST (test_length)
{
  g_autofree char *path = g_strnfill (CURATOR_PATH_MAX_LENGTH + 1, 'a');

  path[0] = '/';
  check_refused (path);
  path[CURATOR_PATH_MAX_LENGTH] = '\0';
  assert_true (curator_path_validate (path, NULL));
}

TEST (test_namespace)
{
  static const char *const accepted[] = { "a", "apps/billing", "a.b", ".a" };
  static const char *const refused[] = { "",     "/a",        "a/",          "a//b", ".", "..",
                                         "a/..", "zookeeper", "zookeeper/a", "\x02", "/", "\xff" };

  for (guint i = 0; i < G_N_ELEMENTS (accepted); i++)
    assert_true (curator_namespace_validate (accepted[i], NULL));
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++) {
    g_autoptr (GError) error = NULL;

    assert_false (curator_namespace_validate (refused[i], &error));
    assert_true (g_error_matches (error, CURATOR_ERROR, CURATOR_ERROR_INVALID_ARGUMENT));
  }
  assert_false (curator_namespace_validate (NULL, NULL));
}

/* Every code point, against PathUtils.validatePath as it is written in Java. */
TEST (test_validate_every_code_point)
{
  for (gunichar c = 1; c <= 0x10ffff; c++) {
    char path[16] = "/x";
    gboolean expected = !(c <= 0x1f || (c >= 0x7f && c <= 0x9f) || (c >= 0xd800 && c <= 0xf8ff)
                          || (c >= 0xfff0 && c <= 0xffff) || c > 0xffff || c == '/');

    path[2 + g_unichar_to_utf8 (c, path + 2)] = '\0';
    assert_int_equal (curator_path_validate (path, NULL), expected);
  }
}

/* TestZKPaths.testMakePath */
TEST (test_make_path)
{
  static const struct
  {
    const char *parent;
    const char *child;
    const char *path;
  } cases[] = {
    { NULL, "/", "/" },
    { "", NULL, "/" },
    { "/", NULL, "/" },
    { NULL, NULL, "/" },
    { "/", "/", "/" },
    { "", "/", "/" },
    { "/", "", "/" },
    { "", "", "/" },
    { "foo", "", "/foo" },
    { "foo", "/", "/foo" },
    { "/foo", "", "/foo" },
    { "/foo", "/", "/foo" },
    { "foo", NULL, "/foo" },
    { "/foo", NULL, "/foo" },
    { "", "bar", "/bar" },
    { "/", "bar", "/bar" },
    { "", "/bar", "/bar" },
    { "/", "/bar", "/bar" },
    { NULL, "bar", "/bar" },
    { NULL, "/bar", "/bar" },
    { "foo", "bar", "/foo/bar" },
    { "/foo", "bar", "/foo/bar" },
    { "foo", "/bar", "/foo/bar" },
    { "/foo", "/bar", "/foo/bar" },
    { "/foo/", "bar/", "/foo/bar" },
    { "foo/", "/bar/", "/foo/bar" },
    { "/a/b", "c/d", "/a/b/c/d" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *path = curator_path_join (cases[i].parent, cases[i].child);

    assert_string_equal (path, cases[i].path);
  }
}

/* TestZKPaths.testSplit: taking a path apart gives its parts, last one first. */
TEST (test_split)
{
  g_autofree char *path = g_strdup ("/hello/sub1/sub2");
  static const char *const parts[] = { "sub2", "sub1", "hello" };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++) {
    assert_string_equal (curator_path_leaf (path), parts[i]);
    char *parent = curator_path_parent (path);
    g_free (path);
    path = parent;
  }
  assert_string_equal (path, "/");
  assert_string_equal (curator_path_leaf ("/"), "");
  assert_string_equal (curator_path_leaf ("bare"), "bare");
  g_autofree char *root = curator_path_parent ("/");
  assert_string_equal (root, "/");
  g_autofree char *none = curator_path_parent ("bare");
  assert_string_equal (none, "/");
}

TEST (test_escape)
{
  static const struct
  {
    const char *name;
    const char *shown;
  } cases[] = {
    { "", "" },
    { "/a/_c_x-lock-0000000001", "/a/_c_x-lock-0000000001" },
    { "100%s%n", "100%s%n" },
    { "a\nb\r\tc", "a\\x0ab\\x0d\\x09c" },
    { "\x1b[31m", "\\x1b[31m" },
    { "\x7f", "\\x7f" },
    { "\\x41", "\\x5cx41" },
    { "\xff\xc3", "\\xff\\xc3" },
    { "\xc3\xa4", "\xc3\xa4" },
    { "\xc2\x85", "\\xc2\\x85" },            /* U+0085, a newline to some */
    { "\xe2\x80\xae", "\\xe2\\x80\\xae" },   /* U+202E, reverses the text */
    { "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },   /* U+2028, line separator */
    { "\xed\xa0\x80x", "\\xed\\xa0\\x80x" }, /* a surrogate */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++) {
    g_autofree char *shown = curator_path_escape (cases[i].name);

    assert_string_equal (shown, cases[i].shown);
  }
  g_autofree char *null = curator_path_escape (NULL);
  assert_string_equal (null, "(null)");
}

SUITE ("path", NULL, NULL)
