# SPDX-License-Identifier: BSD-2-Clause
"""What the documents are made from: comments, options, results. tools/manualpages, tools/optionstable, tools/docs."""
