"""Evidence for other libraries: a retriever for LangChain, and one for LlamaIndex. docs/adapters.md shows both."""
