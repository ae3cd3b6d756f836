"""All rewrites: what the quantizer has no rule for becomes something that it has one for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from torch.fx import GraphModule

from cmcompiler.frontend.portability import refuse_lacking
from cmcompiler.frontend.precision import Patterns
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.rewrites.aliases import spell_aliases
from cmcompiler.frontend.rewrites.angles import write_out_angles
from cmcompiler.frontend.rewrites.assignments import join_assignments
from cmcompiler.frontend.rewrites.attention import rewrite_attention
from cmcompiler.frontend.rewrites.band_norms import fold_band_norms
from cmcompiler.frontend.rewrites.batch_norm import fold_batch_norms
from cmcompiler.frontend.rewrites.batches import add_batches
from cmcompiler.frontend.rewrites.broadcasting import replace_broadcasts
from cmcompiler.frontend.rewrites.channels_last import arrange_channels_last
from cmcompiler.frontend.rewrites.clamps import arrange_clamps
from cmcompiler.frontend.rewrites.column_sums import join_columns_with_images
from cmcompiler.frontend.rewrites.combinations import multiply_combinations
from cmcompiler.frontend.rewrites.complex_numbers import separate_parts
from cmcompiler.frontend.rewrites.compositions import write_out_compositions
from cmcompiler.frontend.rewrites.computed_kernels import multiply_patches
from cmcompiler.frontend.rewrites.constant_batches import split_constant_batches
from cmcompiler.frontend.rewrites.constant_folding import fold_constants
from cmcompiler.frontend.rewrites.contractions import multiply_sums
from cmcompiler.frontend.rewrites.control_flow import write_out_branches_and_loops
from cmcompiler.frontend.rewrites.convolutions import tell_convolutions_apart
from cmcompiler.frontend.rewrites.deviations import rewrite_deviations
from cmcompiler.frontend.rewrites.einsum import multiply_einsum
from cmcompiler.frontend.rewrites.fixed_ranges import free_ranges
from cmcompiler.frontend.rewrites.functions import join_functions
from cmcompiler.frontend.rewrites.identities import remove_copies, remove_identities
from cmcompiler.frontend.rewrites.in_place import remove_in_place
from cmcompiler.frontend.rewrites.integers import spell_integers
from cmcompiler.frontend.rewrites.log_softmax import rewrite_log_softmax
from cmcompiler.frontend.rewrites.logarithms import take_logarithms_of_scores
from cmcompiler.frontend.rewrites.masked_softmax import join_masks
from cmcompiler.frontend.rewrites.masks import choose_for_masks
from cmcompiler.frontend.rewrites.movement import spell_movements
from cmcompiler.frontend.rewrites.norms import rewrite_norms
from cmcompiler.frontend.rewrites.numbers import take_numbers
from cmcompiler.frontend.rewrites.one_dimension import compute_on_images
from cmcompiler.frontend.rewrites.padding import make_margins_explicit
from cmcompiler.frontend.rewrites.patches import convolve_patches
from cmcompiler.frontend.rewrites.pool_places import find_pool_places
from cmcompiler.frontend.rewrites.pooling import unify_pools
from cmcompiler.frontend.rewrites.powers import write_out_powers
from cmcompiler.frontend.rewrites.prelu import keep_prelus
from cmcompiler.frontend.rewrites.products import rewrite_products
from cmcompiler.frontend.rewrites.recurrences import compute_recurrences
from cmcompiler.frontend.rewrites.recurrent import rewrite_recurrent
from cmcompiler.frontend.rewrites.reductions import rewrite_reductions
from cmcompiler.frontend.rewrites.resampling import weigh_samples
from cmcompiler.frontend.rewrites.scans import double_scans
from cmcompiler.frontend.rewrites.scatter_reductions import spell_scatter_reductions
from cmcompiler.frontend.rewrites.scatter_sums import multiply_by_places
from cmcompiler.frontend.rewrites.sentinels import limit_margins, separate_sentinels
from cmcompiler.frontend.rewrites.short import make_short
from cmcompiler.frontend.rewrites.short_probabilities import lengthen_probabilities
from cmcompiler.frontend.rewrites.short_spectra import lengthen_spectra
from cmcompiler.frontend.rewrites.sparse import make_dense
from cmcompiler.frontend.rewrites.spelling import spell_combinations
from cmcompiler.frontend.rewrites.svdf import join_filters
from cmcompiler.frontend.rewrites.three_dimensions import compute_volumes_on_images
from cmcompiler.frontend.rewrites.tokens import separate_tokens
from cmcompiler.frontend.rewrites.transposed_convolution import spread_taps
from cmcompiler.frontend.rewrites.windows import pick_windows
from cmcompiler.frontend.rewrites.written_norms import spell_norms

REWRITES: tuple[Callable[[GraphModule], None], ...] = (
    write_out_branches_and_loops,
    take_numbers,
    make_dense,
    spell_aliases,
    write_out_compositions,
    tell_convolutions_apart,
    remove_identities,
    remove_in_place,
    separate_parts,
    write_out_angles,
    write_out_powers,
    join_assignments,
    remove_copies,
    join_filters,
    spell_combinations,
    spell_integers,
    spell_scatter_reductions,
    multiply_by_places,
    find_pool_places,
    convolve_patches,
    limit_margins,
    weigh_samples,
    multiply_combinations,
    compute_recurrences,
    double_scans,
    add_batches,
    compute_volumes_on_images,
    compute_on_images,
    make_margins_explicit,
    multiply_patches,
    spell_movements,
    pick_windows,
    unify_pools,
    fold_constants,
    fold_band_norms,
    fold_batch_norms,
    join_columns_with_images,
    spread_taps,
    rewrite_norms,
    spell_norms,
    rewrite_recurrent,
    separate_tokens,
    multiply_einsum,
    take_logarithms_of_scores,
    separate_sentinels,
    rewrite_attention,
    multiply_sums,
    rewrite_products,
    arrange_clamps,
    rewrite_reductions,
    rewrite_deviations,
    rewrite_log_softmax,
    join_functions,
    keep_prelus,
    join_masks,
    free_ranges,
    choose_for_masks,
    replace_broadcasts,
    arrange_channels_last,
)
"""In the order in which they run."""


def rewrite(
    module: GraphModule, is_portable: bool = False, precision: Patterns = ()
) -> GraphModule:
    """A graph of ATen operators after all rewrites, which may change it in place.

    Args:
        is_portable: leave out the rewrites that need operators which ExecuTorch's runtime lacks.
        precision: of modules; int8 for all others.
    """
    for each in REWRITES:
        before = deepcopy(module) if is_portable else module
        each(module)
        if is_portable and any(_lacking(module)):
            module = before
    split_constant_batches(module, precision)
    make_short(module, precision)
    if is_portable:
        refuse_lacking(_lacking(module))
    else:
        lengthen_probabilities(module)
        lengthen_spectra(module)
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _lacking(module: GraphModule) -> Iterator[str]:
    """Names of operators in a graph that ExecuTorch's runtime lacks once they are quantised."""
    for node in module.graph.nodes:
        is_own = node.op == "call_function" and str(node.target).startswith("cmbuild.")
        if is_own and node.target in QUANTIZED and not QUANTIZED[node.target].is_portable:
            yield node.target._schema.name
