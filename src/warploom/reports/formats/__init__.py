"""Reports in other tools' formats: Markdown, SARIF, JUnit, GitHub annotations."""
