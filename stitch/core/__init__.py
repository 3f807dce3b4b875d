"""The vocabulary of the library: types, protocols, and the definition of the ranking.

Knows pydantic and nothing else.
"""

from stitch.core.changes import Change, ChangeKind, Projection
from stitch.core.hierarchy import Episode, Near, NearStatement, Statement, Theme
from stitch.core.intent import (
    INSTRUCTS,
    PHASE_MARK,
    SETUP_SCOPE,
    ContextualIntent,
    IntentFilter,
    Label,
    LabelKind,
    LabelMerge,
    LabelVocabulary,
    clean_label,
    goal_of,
    is_setup,
)
from stitch.core.protocols import (
    CorrectableSession,
    DensityQuery,
    DspyLanguageModel,
    Embedder,
    FilterSelector,
    Labeler,
    LabelSession,
    Observer,
    PatientLabeler,
    Position,
    PromptModule,
    Retriever,
    RevisingSession,
    SnippetRecord,
    SnippetStore,
    SourcedStep,
    StepSource,
    StoreHit,
    WordCounts,
)
from stitch.core.ranking import (
    DENSITY,
    LABEL_DENSITY,
    LABELS,
    SIMILARITY,
    Cause,
    DensityCount,
    RankingRule,
    ScoredSnippet,
    SupersededValue,
    density,
    match,
    matched_by_kind,
    rank_by_label_density,
)
from stitch.core.receipts import (
    InputRejected,
    LabelsMerged,
    MemoryEvent,
    Receipt,
    Redaction,
    Rejection,
    Searched,
    StepCorrected,
    StepsAccepted,
    StepsErased,
    StepsFailed,
    StepsRetired,
    StepsStored,
    StepState,
    StoreAway,
    StoreBack,
)
from stitch.core.results import (
    DecidedBy,
    Decision,
    FilterMaker,
    Piece,
    Ranking,
    RetrievalResult,
    SearchRequest,
    Selection,
)
from stitch.core.snippets import (
    SCHEMA_VERSION,
    EntityMention,
    EntityTypeSummary,
    LabelInventory,
    MemorySnippet,
    Moment,
    ReferenceRewrite,
    ScopeSummary,
    StepLabels,
    UnitedScopes,
    annotate_rewrites,
    apply_rewrites,
    snippet_id,
)
from stitch.core.steps import (
    KeptTrajectory,
    Step,
    ToolCall,
    Trajectory,
    clean_name,
    clean_text,
    tenant_name,
    trajectory_name,
    with_calls,
)
from stitch.core.trust import Origin, Trust, origin_of

__all__ = [
    "Cause", "Change", "ChangeKind", "ContextualIntent", "CorrectableSession", "DENSITY", "DecidedBy", "Decision",
    "DensityCount", "DensityQuery", "DspyLanguageModel", "Embedder", "EntityMention", "EntityTypeSummary", "Episode",
    "FilterMaker", "FilterSelector", "INSTRUCTS", "InputRejected", "IntentFilter",
    "KeptTrajectory", "LABELS", "LABEL_DENSITY", "Label", "LabelInventory", "LabelKind", "LabelMerge", "LabelSession",
    "LabelVocabulary", "Labeler", "LabelsMerged", "MemoryEvent", "MemorySnippet", "Moment", "Near", "NearStatement",
    "Observer", "Origin", "PHASE_MARK", "PatientLabeler", "Piece", "Position", "Projection", "PromptModule", "Ranking",
    "RankingRule", "Receipt", "Redaction", "ReferenceRewrite", "Rejection", "RetrievalResult", "Retriever",
    "RevisingSession", "SCHEMA_VERSION", "SETUP_SCOPE", "SIMILARITY", "ScopeSummary", "ScoredSnippet", "SearchRequest",
    "Searched", "Selection", "SnippetRecord", "SnippetStore", "SourcedStep", "Statement", "Step",
    "StepCorrected", "StepLabels", "StepSource", "StepState", "StepsAccepted", "StepsErased", "StepsFailed",
    "StepsRetired", "StepsStored", "StoreAway", "StoreBack", "StoreHit", "SupersededValue", "Theme", "ToolCall",
    "Trajectory", "Trust", "UnitedScopes", "WordCounts", "annotate_rewrites", "apply_rewrites", "clean_label",
    "clean_name", "clean_text", "density", "goal_of", "is_setup", "match", "matched_by_kind", "origin_of",
    "rank_by_label_density", "snippet_id", "tenant_name", "trajectory_name", "with_calls",
]  # fmt: skip
