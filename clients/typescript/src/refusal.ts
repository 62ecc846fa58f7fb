/** What the service refuses with, or what keeps an answer from being used. */
export class SignalRefusal extends Error {
  override readonly name = 'SignalRefusal'
  /** What happened, for programs: a code of the service, or one of this client. */
  readonly code: string
  /** What to do about it. */
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
