/* The tests of SASL DIGEST-MD5 in test_secured.c. */
#ifndef CURATOR_TEST_SECURED_LOGIN_H
#define CURATOR_TEST_SECURED_LOGIN_H

void test_login_by_digest (void **state);
void test_login_is_repeated (void **state);
void test_wrong_password (void **state);

#endif
