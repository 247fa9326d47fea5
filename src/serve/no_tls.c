/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_tls.c - stubs of gnutls for the static build.
 *
 * libmicrohttpd's static library refers to gnutls, which a plain HTTP server never uses. gnutls has no complete static
 * library and would need eight more libraries. Here its initialization succeeds; every other function returns an error.
 */
#define NONE (-1)

#define NAMES(X)                                                                                                       \
    X(gnutls_record_send) X(gnutls_record_recv) X(gnutls_record_check_pending) X(gnutls_bye)                           \
    X(gnutls_transport_set_int2) X(gnutls_session_set_ptr) X(gnutls_record_get_direction)                              \
    X(gnutls_psk_set_server_credentials_function) X(gnutls_psk_free_server_credentials)                                \
    X(gnutls_psk_allocate_server_credentials) X(gnutls_protocol_get_version) X(gnutls_priority_set)                    \
    X(gnutls_priority_init) X(gnutls_priority_deinit) X(gnutls_init) X(gnutls_handshake) X(gnutls_dh_params_init)      \
    X(gnutls_dh_params_import_pkcs3) X(gnutls_dh_params_deinit) X(gnutls_deinit) X(gnutls_credentials_set)             \
    X(gnutls_cipher_get) X(gnutls_certificate_set_x509_trust_mem) X(gnutls_certificate_set_x509_key_mem2)              \
    X(gnutls_certificate_set_x509_key_mem) X(gnutls_certificate_set_retrieve_function3)                                \
    X(gnutls_certificate_set_retrieve_function2) X(gnutls_certificate_set_dh_params)                                   \
    X(gnutls_certificate_server_set_request) X(gnutls_certificate_free_credentials)                                    \
    X(gnutls_certificate_allocate_credentials) X(gnutls_alpn_set_protocols)

#define X(name)                                                                                                        \
    long name(void);                                                                                                   \
    long name(void) { return NONE; }
NAMES(X)
#undef X

int         gnutls_global_init(void);
void        gnutls_global_deinit(void);
const char *gnutls_strerror(int error);
void       *gnutls_session_get_ptr(void *session);
void       *(*gnutls_malloc)(unsigned long size);

int   gnutls_global_init(void) { return 0; }
void  gnutls_global_deinit(void) {}
void *gnutls_session_get_ptr(void *session)
{
    (void)session;
    return (void *)0;
}
const char *gnutls_strerror(int error)
{
    (void)error;
    return "this program speaks no TLS";
}
