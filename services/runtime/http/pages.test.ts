import { expect, test } from 'vitest'
import { pagesOf } from './pages.ts'

async function read(
  next: (asked: number) => string | null,
  mostPages?: number,
): Promise<(string | undefined)[]> {
  const asked: (string | undefined)[] = []
  const pages = pagesOf(
    'the list',
    async (after) => {
      asked.push(after)
      return { next: next(asked.length) }
    },
    mostPages,
  )
  for await (const _ of pages);
  return asked
}

test('each page is asked for with the next of the one before', async () => {
  expect(await read((asked) => (asked < 3 ? `p${asked}` : null))).toEqual([undefined, 'p1', 'p2'])
})

test('a list that goes round, or has no end, is left', async () => {
  await expect(read((asked) => `p${asked % 2}`)).rejects.toThrow('the list has no end: it names a page twice')
  await expect(read((asked) => `p${asked}`, 7)).rejects.toThrow('has more than 7 pages')
})
