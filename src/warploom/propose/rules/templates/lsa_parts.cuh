  const char** parts = nullptr;  // [ranks], where not null: takes where data lies, nothing is copied
