/** A plain-text mail to one person. */
export interface Mail {
  /** One address, as `normaliseEmail` answers it. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Its Message-ID, where it may be sent twice: `name@host`. A mailbox can then drop the second copy. */
  readonly id?: string
}

/** Sends mail. */
export interface Mailer {
  /** Resolves once the next server has taken the mail. @throws MailError */
  send(mail: Mail): Promise<void>
  /** Set where mail is shown to the operator instead of being sent. */
  readonly isShown?: true
  close(): Promise<void>
}

/** A mail that was not taken. It never holds an address, so that it can be logged. */
export class MailError extends Error {
  override readonly name = 'MailError'
  /** Whether the same mail may be taken later. */
  readonly isPassing: boolean

  constructor(message: string, isPassing: boolean) {
    super(message)
    this.isPassing = isPassing
  }
}
