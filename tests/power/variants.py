# SPDX-License-Identifier: ISC
"""The kinds of ext4 that os/file/order.c takes as ordered: each may keep its promises in another
way. What it does not take (data=journal, data=writeback, no barriers, no journal) is in
tests/e2e/queue/test_power.py."""

# name: (options of mkfs, options of mount)
EXT4 = {
    "plain": ([], "rw"),
    # another journal
    "fast_commit": (["-O", "fast_commit"], "rw"),
    "fast_commit_large": (["-O", "fast_commit", "-J", "fast_commit_size=256"], "rw"),
    "journal_small": (["-J", "size=4"], "rw"),
    "journal_large": (["-J", "size=256"], "rw"),
    "journal_checksum": ([], "journal_checksum"),
    "commit_often": ([], "commit=1"),
    "commit_rarely": ([], "commit=300"),
    "no_batches": ([], "min_batch_time=0,max_batch_time=0"),
    "long_batches": ([], "max_batch_time=100000"),
    # other ways of a file's bytes to the disk
    "inline_data": (["-O", "inline_data"], "rw"),
    "inline_data_large": (["-O", "inline_data", "-I", "1024"], "rw"),
    "bigalloc": (["-O", "bigalloc"], "rw"),
    "bigalloc_64k": (["-O", "bigalloc", "-C", "65536"], "rw"),
    "no_extents": (["-O", "^extent,^64bit"], "rw"),
    "blocks_1k": (["-b", "1024"], "rw"),
    "blocks_2k": (["-b", "2048"], "rw"),
    "nodelalloc": ([], "nodelalloc"),
    "dioread_lock": ([], "dioread_lock"),
    "nodelalloc_dioread_lock": ([], "nodelalloc,dioread_lock"),
    "noauto_da_alloc": ([], "noauto_da_alloc"),
    "data_err_abort": ([], "data_err=abort"),
    "stripe": (["-E", "stride=16,stripe_width=64"], "rw"),
    # other names, inodes and checks
    "no_metadata_csum": (["-O", "^metadata_csum"], "rw"),
    "uninit_bg": (["-O", "^metadata_csum,uninit_bg"], "rw"),
    "no_64bit": (["-O", "^64bit"], "rw"),
    "inodes_128": (["-I", "128"], "rw"),
    "no_flex_bg": (["-O", "^flex_bg"], "rw"),
    "meta_bg": (["-O", "meta_bg,^resize_inode"], "rw"),
    "no_dir_index": (["-O", "^dir_index"], "rw"),
    "large_dir": (["-O", "large_dir"], "rw"),
    "ea_inode": (["-O", "ea_inode"], "rw"),
    "orphan_file": (["-O", "orphan_file"], "rw"),
    "sparse_super2": (["-O", "sparse_super2"], "rw"),
    "mmp": (["-O", "mmp", "-E", "mmp_update_interval=1"], "rw"),
    "lazytime": ([], "lazytime"),
    "i_version": ([], "i_version"),
    "discard": ([], "discard"),
    "dirsync": ([], "dirsync"),
    "as_ext3": (["-O", "^extent,^64bit,^metadata_csum,^flex_bg,^huge_file,^dir_nlink,^extra_isize",
                 "-I", "128"], "rw"),
    # several at once
    "inline_fast_commit": (["-O", "inline_data,fast_commit"], "rw"),
    "bigalloc_inline_fast_commit": (["-O", "bigalloc,inline_data,fast_commit"], "rw"),
    "blocks_1k_no_extents_nodelalloc": (["-b", "1024", "-O", "^extent,^64bit"], "nodelalloc"),
}
