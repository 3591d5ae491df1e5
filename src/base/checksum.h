// SPDX-License-Identifier: ISC
/*
 * base/checksum.h - CRC-32C, the Castagnoli polynomial of iSCSI (RFC 3720, 12.1), ext4 and btrfs.
 *
 * It finds bytes that a disk changed: every change of up to 32 bits in a row, and all but one in
 * four thousand million of the others. It keeps nobody from changing bytes on purpose.
 */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes that CHECKSUM is of (0: none) and, after them, SIZE bytes of DATA. */
uint32_t checksum_extend(uint32_t checksum, const void *data, size_t size);
/* The same by the table, also where the processor has an instruction for it. */
uint32_t checksum_extend_by_table(uint32_t checksum, const void *data, size_t size);

#endif
