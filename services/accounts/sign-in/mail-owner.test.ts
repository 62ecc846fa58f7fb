import { afterEach, beforeEach, expect, test } from 'vitest'
import { HOUR_MS } from '../../../contracts/domain/timeframes.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { aWorld, codeOf, ORIGIN, type World } from '../testing/accounts.fixture.ts'

const EMAIL = 'ada@example.com'
const MAIL = { subject: 'Your webhook fails', text: 'Look at it.' }
let world: World
beforeEach(() => {
  world = aWorld()
})
afterEach(() => world.closeAll())

const notices = (): unknown[] => world.mails.filter(({ subject }) => subject === MAIL.subject)

test('a notice is mailed to the owner, so often in an hour, over all processes', async () => {
  const [{ accounts }, { accounts: other }] = [await world.start(), await world.start()]
  const { accountId } = await world.signIn(accounts, EMAIL)
  await accounts.mailOwner(accountId, MAIL)
  expect(notices()).toEqual([{ to: EMAIL, ...MAIL }])
  for (let n = 1; n < LIMITS.noticeMailsPerHour; n++) await other.mailOwner(accountId, MAIL)
  expect(await codeOf(accounts.mailOwner(accountId, MAIL))).toBe('rate_limited')
  expect(notices()).toHaveLength(LIMITS.noticeMailsPerHour)
  world.now += HOUR_MS
  await other.mailOwner(accountId, MAIL)
  expect(notices()).toHaveLength(LIMITS.noticeMailsPerHour + 1)
  // Sign-in codes are mailed all the same.
  await world.signIn(accounts, EMAIL)
})

test('nobody is mailed where there is no address, or no account any more', async () => {
  const { accounts } = await world.start()
  const { accountId } = await world.signIn(accounts, EMAIL)
  await accounts.erase(accountId, ORIGIN)
  expect(await codeOf(accounts.mailOwner(accountId, MAIL))).toBe('none')
  expect(notices()).toEqual([])
})
