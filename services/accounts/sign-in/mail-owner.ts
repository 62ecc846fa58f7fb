import type { AccountDeps } from '../account-deps.ts'
import type { Mail, Mailer } from '../mail/mailer.ts'
import type { PostOffice } from './post-office.ts'

/**
 * Mails the owner of an account. Nothing happens where the account has no address, or the service no mail server.
 *
 * @throws ServiceError `rate_limited` where the account's hour is full or too many mails are under way; of the store
 */
export type MailOwner = (accountId: string, mail: Omit<Mail, 'to'>) => Promise<void>

export function createMailOwner({
  log,
  subjectKeys,
  postOffice,
  mailer,
}: Pick<AccountDeps, 'log' | 'subjectKeys'> & {
  readonly postOffice: PostOffice
  readonly mailer: Pick<Mailer, 'isShown'>
}): MailOwner {
  return async (accountId, mail) => {
    const { isOpen, generation, sealedEmail } = await log.load(accountId)
    if (mailer.isShown || !isOpen || sealedEmail === null) return
    // Before it is counted: a mail that finds no place uses up nothing of the hour.
    postOffice.requireRoom()
    await log.execute(accountId, { correlationId: accountId, actor: 'notices' }, () => [{ kind: 'Mail' }])
    const to = await subjectKeys.unsealEmail({ accountId, generation }, sealedEmail)
    await postOffice.send({ ...mail, to }, `notice to account ${accountId}`)
  }
}
