import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../contracts/limits.ts'
import { blockText } from '../corpus/block-text.ts'
import { SHELF } from '../testing/sections.fixture.ts'
import { createWriter, NOT_SAID, refusal, research } from './answer-question.ts'
import { type ChatModel, ChatModelError, type GivenPassage } from './chat-model.ts'

const QUESTION = 'Does a refused call count against the quota?'

function aWriter() {
  const reports: string[] = []
  const writer = createWriter({ publicUrl: () => '', report: (reason) => reports.push(reason) })
  return { writer, reports }
}

const model = (complete: ChatModel['complete']): ChatModel => ({ name: 'big', complete })

describe('extractively', () => {
  test('a question is answered with text of the documentation, word for word, and where they stand', () => {
    const { answer, citations, model: by, note } = aWriter().writer.extractive(research(SHELF, QUESTION))
    expect(answer).toContain('Refused calls count nothing.')
    expect(citations[0]).toMatchObject({ id: 'quotas#quotas', title: 'Quotas', url: '/docs/quotas#quotas' })
    expect([by, note]).toEqual(['extractive', null])
    const said = SHELF.index.sections.flatMap(({ blocks }) => blocks.map(blockText)).join('\n\n')
    expect(said).toContain(answer.replace(/ \[1\]$/, ''))
  })

  test.each(['What is the capital of France?', 'zzzz qqqq', 'the and of'])(
    '%j is not answered',
    (question) => {
      expect(research(SHELF, question).sections).toEqual([])
      expect(refusal('extractive')).toEqual({
        answer: NOT_SAID,
        citations: [],
        model: 'extractive',
        note: null,
      })
    },
  )
})

test('a part of a question that has one telling word is looked up as well', () => {
  const talk =
    'On Sunday shelves, chairs, lamps, curtains, carpets, doors, ladders, pillows and paint kept uncle Harold awake'
  expect(research(SHELF, talk).sections).toEqual([])
  const { question, sections } = research(SHELF, `${talk}, what are the quotas?`)
  expect(question).toBe(`${talk}, what are the quotas?`)
  expect(sections[0]?.section.page).toBe('quotas')
})

describe('by a model', () => {
  test('it is given the question and the passages, and its citations are looked up', async () => {
    const given: [string, readonly GivenPassage[]][] = []
    const { writer } = aWriter()
    const written = await writer.byModel(
      model(async (...all) => {
        given.push(all)
        return 'No: they count nothing [1].'
      }),
      research(SHELF, QUESTION),
    )
    expect(written).toMatchObject({ answer: 'No: they count nothing [1].', model: 'big', note: null })
    expect(written.citations).toHaveLength(1)
    const [[question, passages]] = given as [[string, readonly GivenPassage[]]]
    expect(question).toBe(QUESTION)
    expect(passages[0]).toMatchObject({ title: 'Quotas', text: expect.stringContaining('Refused calls') })
    expect(passages.length).toBeLessThanOrEqual(LIMITS.chatPassages)
  })

  test('which says that the passages do not say, there is no answer', async () => {
    const written = await aWriter().writer.byModel(
      model(async () => 'NOT IN THE DOCUMENTATION'),
      research(SHELF, QUESTION),
    )
    expect(written).toEqual({ answer: NOT_SAID, citations: [], model: 'big', note: null })
  })

  test.each([
    ['fails', () => Promise.reject(new ChatModelError('the endpoint is away')), 'the endpoint is away'],
    ['breaks', () => Promise.reject(new TypeError('a secret of the inside')), 'the model failed'],
    ['cites nothing', async () => 'Trust me.', 'the model cited nothing of what it was given'],
  ])('that %s, the extractive answer takes its place and says why', async (_how, complete, reason) => {
    const { writer } = aWriter()
    const found = research(SHELF, QUESTION)
    const written = await writer.byModel(model(complete), found)
    expect(written).toEqual({ ...writer.extractive(found), note: `Answered by extractive: ${reason}.` })
  })

  test('that is asked more at a time than it takes is not asked again, until one is done', async () => {
    const { writer } = aWriter()
    const { promise, resolve } = Promise.withResolvers<string>()
    let asked = 0
    const slow = model(() => {
      asked += 1
      return promise
    })
    const found = research(SHELF, QUESTION)
    const all = Array.from({ length: LIMITS.chatModelAtOnce }, () => writer.byModel(slow, found))
    const past = await writer.byModel(slow, found)
    expect(past).toMatchObject({ model: 'extractive', note: expect.stringContaining('as many questions') })
    resolve('Yes [1].')
    await Promise.all(all)
    expect(asked).toBe(LIMITS.chatModelAtOnce)
    expect((await writer.byModel(slow, found)).model).toBe('big')
  })

  test('an order in a passage reaches nobody: what it talks the model into is not in the answer', async () => {
    const obedient = model(async (_question, passages) => {
      const place = passages.findIndex(({ text }) => text.includes('evil.example'))
      return `Visit https://evil.example/login2 at once [${place + 1}].`
    })
    const written = await aWriter().writer.byModel(
      obedient,
      research(SHELF, 'What is the secret of the webhook?'),
    )
    expect(written.answer).toBe('Visit (address left out) at once [1].')
  })
})
