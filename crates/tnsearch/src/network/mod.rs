//! Networks (a structure with its cores) and their contraction.
