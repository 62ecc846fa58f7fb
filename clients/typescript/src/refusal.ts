/** A refusal of the service, or the reason why its answer cannot be used. */
export class SignalRefusal extends Error {
  override readonly name = 'SignalRefusal'
  /** The reason for programs: a code of the service, or one of this client. */
  readonly code: string
  /** The next step. */
  readonly nextStep: string | undefined
  readonly details: unknown

  constructor(
    code: string,
    message: string,
    more: { nextStep?: string | undefined; details?: unknown; cause?: unknown } = {},
  ) {
    super(`${code}: ${message}`, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.nextStep = more.nextStep
    this.details = more.details
  }
}
