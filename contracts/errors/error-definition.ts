/** The registry's entry of one error code. */
export interface ErrorDefinition {
  /** HTTP status of an answer with this code. */
  readonly status: number
  /** Exit code of a command that ends with it; absent where it cannot end one. */
  readonly exitCode?: number
  /** The general message; a thrown error may have a particular one. */
  readonly message: string
  /** The caller's next step. */
  readonly nextStep: string
  /** A thrown error says what failed inside, which callers are not told unless it was written for them. */
  readonly isInner?: true
}

/** Keeps the codes of a part of the registry. */
export const defineErrors = <const Registry extends Record<string, ErrorDefinition>>(
  registry: Registry,
): Registry => registry
