import type { Mailer } from './mailer.ts'

const RULE = '─'.repeat(72)

/**
 * Shows mail to the operator instead of sending it, for a service without a mail server: the operator passes the code
 * on, or signs in with it.
 *
 * @param show writes lines where the operator, and nobody else, reads them
 */
export const createOperatorMailer = (show: (text: string) => void): Mailer => ({
  async send({ to, subject, text }) {
    // Set apart: among the lines of a service that runs, a single one is not found.
    const words = text.replaceAll(/\s+/g, ' ').trim()
    show(`\n${RULE}\n${subject}, to ${to} (not sent: SMTP_URL is not set)\n\n  ${words}\n${RULE}\n`)
  },
  isShown: true,
  close: async () => undefined,
})
