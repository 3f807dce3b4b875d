"""Words that the files of every memory hold, whatever was said: names of tables, columns, fields, events and states.

To find one of them in the bytes of a file shows nothing; in what files say of steps it is looked for as any other.
Shorter ones than `LEAST_BYTES` are not searched for in bytes, and not listed. A test holds the list to what files hold.
"""

from __future__ import annotations

OWN_WORDS = """
accepted addressed antecedent arguments asked_by at_length autoincrement begin_bytes block_size_bytes checkpoints
checksum checksums chunkedmmap chunk_size_bytes chunk_size_vectors collection compression conversations corrected
correction cost_usd decided_by decision default_segment_number deleted_threshold dimension distance edge_config embedder
entities entity_type entity_types event_type event_types exchange field_schema
followed hardware_counter history_of immutable
in_context indexed_fields indexing_threshold inexact initial_version inputrejected intent_filter interruptions inventory
labeled_by labelsmerged last_answered_tool last_called last_closed last_role listed_at looked_at made_by mappings
max_segment_size memory_threshold mentions metadata milliseconds min_trust mutable_id_tracker nearness next_row next_seq
numbers on_disk_payload optimizers page_size_bytes payload_index payload_memory payload_storage payload_storage_type
position prevent_unoptimized primary_key projections prompt_tokens quantity quantization_config reasons reclaimed
recognized recorded records_of redactions redactions_of references referents region_size_blocks rejection replacement
reply_tokens request_digest resolved retired_at schema_version scopes_by_hand searched segments session_of similarity
sketches snippets sparse_vectors speakers sqlite_autoindex sqlite_sequence stepsaccepted stepsfailed stepsstored
stitchsn language datatype standing after_setup openings personcreate stepcorrected texts_act storage_type summary
switches tablechanges tablecheckpoints tablecuts tablehistory tablelabels tableprojections tablerecords tableredactions
tablereplies tablestates tablesteps tabletrajectories timestamp together tool_calls tool_name topic_at tracker_journal
trajectories trajectory unfinished vacuum_min_vector_number vector_data vector_storage verbatim versions vocabulary
wal_enabled integer primary key not null create table without rowid unique
"""
"""In small letters; a part of one is in the files too."""
