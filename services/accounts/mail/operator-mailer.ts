import type { Mailer } from './mailer.ts'

/**
 * Shows mail to the operator instead of sending it, for a service without a mail server: whoever runs it hands the
 * code on, or signs in with it.
 *
 * @param show writes lines where the operator, and nobody else, reads them
 */
export const createOperatorMailer = (show: (text: string) => void): Mailer => ({
  async send({ to, subject, text }) {
    show(`mail to ${to} (not sent: SMTP_URL is not set): ${subject}. ${text.replaceAll(/\s+/g, ' ').trim()}`)
  },
  close: async () => undefined,
})
