/** A passage as a model is given it. */
export interface GivenPassage {
  readonly title: string
  readonly text: string
}

/** Something that writes an answer from passages, such as an OpenAI-compatible endpoint. */
export interface ChatModel {
  /** The name by which callers choose it. */
  readonly name: string
  /**
   * The text it wrote, unchecked. Passages are numbered from 1 in their order.
   *
   * @throws ChatModelError for every fault; it gives up by itself within its time
   */
  complete(question: string, passages: readonly GivenPassage[]): Promise<string>
}

/** Why a model gave no answer, in words that callers may read. */
export class ChatModelError extends Error {
  override readonly name = 'ChatModelError'
}
