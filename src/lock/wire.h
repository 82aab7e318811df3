/* The names that Curator gives to lock nodes, and what it writes into them. */
#pragma once

#define CURATOR_LOCK_NAME      "lock-"      /* of a mutex, and of a turn for a semaphore */
#define CURATOR_READ_NAME      "__READ__"   /* of a read lock */
#define CURATOR_WRITE_NAME     "__WRIT__"   /* of a write lock */
#define CURATOR_LEASE_NAME     "lease-"     /* of a semaphore's lease */
#define CURATOR_LATCH_NAME     "latch-"     /* of a leader latch */
#define CURATOR_TURNS_NAME     "locks"      /* a semaphore's queue for the turn */
#define CURATOR_LEASES_NAME    "leases"     /* a semaphore's leases */
#define CURATOR_PROTECTED_NAME "_c_"        /* the prefix of a protected node, before its UUID */
#define CURATOR_REVOKE_PAYLOAD "__REVOKE__" /* asks the holder of a node to let it go */
