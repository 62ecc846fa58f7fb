import { LIMITS } from '../../../contracts/limits.ts'
import type { Mail } from '../mail/mailer.ts'

/** The mail that carries a sign-in code. */
export const signInMail = (email: string, code: string, serviceUrl: string): Mail => ({
  to: email,
  subject: `${code} is your sign-in code`,
  text: [
    `Your sign-in code for the signal service at ${serviceUrl} is`,
    `    ${code}`,
    `It is good for ${LIMITS.signInCodeMs / 60_000} minutes and takes the place of codes sent before.`,
    'If you did not ask for it, there is nothing to do: without the code nobody can sign in with your address.',
    '',
  ].join('\n\n'),
})
