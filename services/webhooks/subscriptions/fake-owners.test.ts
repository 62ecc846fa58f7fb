import { ownerAccountsContract } from '../../../contracts/domain/owner-accounts.contract.ts'
import { fakeOwners } from './testing/fake-owners.fixture.ts'

ownerAccountsContract(async () => {
  const owners = fakeOwners(() => 0)
  return {
    owners,
    open: async (person) => {
      owners.open(person)
      return person
    },
    erase: async (accountId) => owners.erase(accountId),
    limit: owners.limit,
    [Symbol.asyncDispose]: async () => undefined,
  }
})
