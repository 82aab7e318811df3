/* SPDX-License-Identifier: Apache-2.0
 * consumer VERSION: succeeds if the library has this version and a client can be created. */
#include <curator/curator.h>
#include <stdio.h>

int
main (int argc, char **argv)
{
  g_autoptr (CuratorRetryPolicy) policy = curator_retry_policy_new_one_time (1000);
  g_autoptr (CuratorClient) client = curator_client_new ("127.0.0.1:2181", policy);
  printf ("libcurator %s\n", curator_get_version ());
  return argc == 2 && client != NULL && g_str_equal (curator_get_version (), argv[1]) ? 0 : 1;
}
