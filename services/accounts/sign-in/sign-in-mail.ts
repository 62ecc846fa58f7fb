import { LIMITS } from '../../../contracts/limits.ts'
import type { Mail } from '../mail/mailer.ts'
import { shownCode } from './sign-in-code.ts'

/** The mail that carries a sign-in code. */
export const signInMail = (email: string, code: string, serviceUrl: string): Mail => ({
  to: email,
  subject: `${shownCode(code)} is your sign-in code`,
  text: [
    `Your sign-in code for the signal service at ${serviceUrl} is`,
    `    ${shownCode(code)}`,
    `It is good for ${LIMITS.signInCodeMs / 60_000} minutes, once. If there are several such mails, any of their codes will do.`,
    'If you did not ask for it, there is nothing to do: without the code nobody can sign in with your address.',
    '',
  ].join('\n\n'),
})
