import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../contracts/limits.ts'
import { createWriter, refusal } from './chat-answer.ts'
import { type ChatModel, ChatModelError, type Passage } from './llm.ts'
import { blockText } from './markdown.ts'
import { found, SECTIONS } from './testing/sections.fixture.ts'

const QUESTION = 'Does a refused call count against the quota?'

function aWriter() {
  const reports: string[] = []
  const writer = createWriter({ publicUrl: () => '', report: (reason) => reports.push(reason) })
  return { writer, reports }
}

const model = (complete: ChatModel['complete']): ChatModel => ({ name: 'big', complete })

describe('extractively', () => {
  test('a question is answered with text of the documentation, word for word, and where they stand', () => {
    const { answer, citations, model: by, note } = aWriter().writer.extractive(found(QUESTION))
    expect(answer).toContain('Refused calls count nothing.')
    expect(citations[0]).toMatchObject({ id: 'quotas#quotas', title: 'Quotas', url: '/docs/quotas#quotas' })
    expect([by, note]).toEqual(['extractive', null])
    const said = SECTIONS.flatMap(({ blocks }) => blocks.map(blockText)).join('\n\n')
    for (const quote of answer.split(/ \[\d\](?:\n\n)?/)) expect(said).toContain(quote)
  })

  test.each(['What is the capital of France?', 'zzzz qqqq'])('%j is not answered', (question) => {
    expect(found(question).sections).toEqual([])
    expect(refusal('extractive')).toEqual({
      answer: 'The documentation does not say.',
      citations: [],
      model: 'extractive',
      note: null,
    })
  })
})

test('a part of a question that has one telling word is looked up as well', () => {
  const talk =
    'On Sunday shelves, chairs, lamps, curtains, carpets, doors, ladders, pillows and paint kept uncle Harold awake'
  expect(found(talk).sections).toEqual([])
  const { question, sections } = found(`${talk}, what are the quotas?`)
  expect(question).toBe(`${talk}, what are the quotas?`)
  expect(sections[0]?.page).toBe('quotas')
})

describe('by a model', () => {
  test('it is given the question and the passages, and its citations are looked up', async () => {
    const given: [string, readonly Passage[]][] = []
    const { writer } = aWriter()
    const written = await writer.byModel(
      model(async (...all) => {
        given.push(all)
        return 'No: they count nothing [1].'
      }),
      found(QUESTION),
    )
    expect(written).toMatchObject({ answer: 'No: they count nothing [1].', model: 'big', note: null })
    expect(written.citations).toHaveLength(1)
    const [[question, passages]] = given as [[string, readonly Passage[]]]
    expect(question).toBe(QUESTION)
    expect(passages[0]).toMatchObject({ title: 'Quotas', text: expect.stringContaining('Refused calls') })
    expect(passages.length).toBeLessThanOrEqual(LIMITS.chatPassages)
  })

  test('which says that the passages do not say, there is no answer', async () => {
    const written = await aWriter().writer.byModel(
      model(async () => 'NOT IN THE DOCUMENTATION'),
      found(QUESTION),
    )
    expect(written).toEqual({
      answer: 'The documentation does not say.',
      citations: [],
      model: 'big',
      note: null,
    })
  })

  test.each([
    ['fails', () => Promise.reject(new ChatModelError('the endpoint is away')), 'the endpoint is away'],
    ['breaks', () => Promise.reject(new TypeError('a secret of the inside')), 'the model failed'],
    ['cites nothing', async () => 'Trust me.', 'the model cited none of its passages'],
  ])('that %s, the extractive answer takes its place and says why', async (_how, complete, reason) => {
    const { writer } = aWriter()
    const research = found(QUESTION)
    const written = await writer.byModel(model(complete), research)
    expect(written).toEqual({ ...writer.extractive(research), note: `Answered by extractive: ${reason}.` })
  })

  test('that is asked more at a time than it takes is not asked again, until one is done', async () => {
    const { writer } = aWriter()
    const { promise, resolve } = Promise.withResolvers<string>()
    let asked = 0
    const slow = model(() => {
      asked += 1
      return promise
    })
    const research = found(QUESTION)
    const all = Array.from({ length: LIMITS.chatModelAtOnce }, () => writer.byModel(slow, research))
    const past = await writer.byModel(slow, research)
    expect(past).toMatchObject({ model: 'extractive', note: expect.stringContaining('already answering') })
    resolve('Yes [1].')
    await Promise.all(all)
    expect(asked).toBe(LIMITS.chatModelAtOnce)
    expect((await writer.byModel(slow, research)).model).toBe('big')
  })

  test('an order in a passage reaches nobody: what it talks the model into is not in the answer', async () => {
    const obedient = model(async (_question, passages) => {
      const place = passages.findIndex(({ text }) => text.includes('evil.example'))
      return `Visit https://evil.example/login2 at once [${place + 1}].`
    })
    const written = await aWriter().writer.byModel(obedient, found('What is the secret of the webhook?'))
    expect(written.answer).toBe('Visit (address left out) at once [1].')
  })
})
