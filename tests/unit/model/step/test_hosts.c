/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c - the host of a device: its usual one, the one that the user names, or an unknown one. */
#include <math.h>
#include "time_device.h"
#include "model/step/loading.h"

static cm_diag diag;

/* The host of a built-in device, or of none if `device` is NULL; a refusal leaves its status. */
static cm_status host_of(const char *device, const char *id, cm__known_host *host)
{
    cm_device *d = NULL;
    cm__ctx   *ctx = cm__ctx_new(&diag);
    if (device) assert_int_equal(cm_device_load(device, &d, &diag), CM_OK);
    if (setjmp(ctx->trap) == 0) *host = cm__host_of(ctx, d, id);
    cm_status status = ctx->status;
    cm__ctx_free(ctx);
    cm_device_free(d);
    return status;
}

static cm__known_host usual(const char *device)
{
    cm__known_host host;
    assert_int_equal(host_of(device, NULL, &host), CM_OK);
    return host;
}

static void near(double got, double expected)
{
    if (!(fabs(got / expected - 1) < 1e-12)) fail_msg("%g, expected %g", got, expected);
}

/* A DGX A100 has two EPYC 7742 of 64 cores at 2.25 GHz for eight devices: all cards with an A100 count. */
static void hosts_of_systems(void **state)
{
    static const char *const a100s[] = {"nvidia-a100-40g", "nvidia-a100-80g", "nvidia-a100-40g-pcie"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        cm__known_host host = usual(a100s[i]);
        assert_string_equal(host.id, "dgx-a100");
        assert_true(host.cores == 2 * 64 / 8 && host.clock_hz == 2.25e9);
    }
    assert_string_equal(usual("nvidia-h200").id, "hgx-h200");
    assert_string_equal(usual("nvidia-b200").id, "hgx-h200"); /* the second device of the list */
}

/* Rates of a host without its own: tokens by the clock, from the first row; images by the boost clock, from the last row
   that has a rate; storage does not scale. */
static void rates_scale_by_the_clock(void **state)
{
    const cm__known_host *measured = &cm__known_hosts[0];
    cm__known_host        host = usual("nvidia-a100-40g");
    (void)state;
    near(host.images_s, usual("nvidia-h200").images_s * 3.4 / 4.0);
    assert_true(usual("nvidia-h200").images_s == 709);
    near(host.tokens_s, measured->tokens_s * 2.25e9 / measured->clock_hz);
    near(host.read_bytes_s, measured->read_bytes_s);
}

static void the_named_host_counts(void **state)
{
    cm__known_host host;
    (void)state;
    assert_int_equal(host_of("nvidia-h200", "DGX-A100", &host), CM_OK);
    assert_string_equal(host.id, "dgx-a100");
    assert_int_equal(host_of(NULL, "dgx-a100", &host), CM_OK);
    assert_string_equal(host.id, "dgx-a100");
    assert_int_equal(host_of("nvidia-h200", cm__known_hosts[0].id, &host), CM_OK);
    near(host.images_s, cm__known_hosts[0].images_s); /* its own rates, unscaled */
    assert_int_equal(host_of("nvidia-h200", "dgx-a10", &host), CM_ERR_UNKNOWN);
    assert_non_null(strstr(diag.reason, "no host 'dgx-a10', did you mean 'dgx-a100'?; there are "));
    for (int32_t i = 0; i < cm__n_known_hosts; i++)
        if (!strstr(diag.reason, cm__known_hosts[i].id) && strlen(diag.reason) < sizeof diag.reason - 1)
            fail_msg("%s is not listed", cm__known_hosts[i].id);
}

/* A device that no host lists: eight cores of unknown clock, with the measured rates. */
static void an_unknown_host(void **state)
{
    cm_device     *d = device_of(TIME_DEVICE(""));
    cm__ctx       *ctx = cm__ctx_new(&diag);
    cm__known_host host = cm__host_of(ctx, d, NULL);
    (void)state;
    assert_string_equal(host.id, "timed");
    assert_string_equal(host.name, "an unknown host");
    assert_true(host.cores == 8 && isnan(host.clock_hz) && isnan(host.boost_hz));
    near(host.images_s, cm__known_hosts[0].images_s);
    near(host.read_bytes_s, cm__known_hosts[0].read_bytes_s);
    cm__ctx_free(ctx);
    cm_device_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_of_systems), cmocka_unit_test(rates_scale_by_the_clock),
        cmocka_unit_test(the_named_host_counts), cmocka_unit_test(an_unknown_host),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
