import { type PlayerCalls, unlessAborted } from './calls.ts'
import {
  ADD_XP_RESPONSE,
  type AddXpResponse,
  CLAIM_RESPONSE,
  type ClaimResponse,
  CROSS_RESPONSE,
  type EnteredNode,
  type ExecutionPlan,
  type NextRun,
  PASSED_TYPES,
  PREMIUM_RESPONSE,
  PROGRESS_RESPONSE,
  type PremiumResponse,
  type ProgressResponse,
  REWARD,
  REWARD_BOOST,
  type RewardBoost,
  RUN_RESPONSE,
  type RunResponse,
  SEASON_RESPONSE,
  type SeasonResponse,
  START_RUN_RESPONSE,
} from './contract.ts'
import { TierwayError } from './error.ts'
import { graphql, listen, streamCursor, type TierwayEvent } from './events.ts'
import { Accounts, type Following } from './following.ts'
import { Listeners } from './listeners.ts'
import type { Signal } from './platform.ts'
import type {
  AllEvents,
  BattlePassEvents,
  ClaimedTiers,
  Crossing,
  GrantedRewards,
  LevelUp,
  SessionEvents,
  Track,
} from './session-events.ts'
import type { ShapeOf } from './shape.ts'
import { backoff, type CallOptions, type ChangeOptions, keyOr, newKey, pause } from './transport.ts'

const RUN = '/sdk/v1/scenarios/run'
const CLAIM_ALL = `mutation ($input: ClaimAllInput!) {
  claimAll(input: $input) { claimed { level track granted { amount currency itemId } boosts { percent minutes } } }
}`
/** GraphQL has the tracks in upper case. */
type Claimed = Omit<ClaimedTiers['claimed'][number], 'track' | 'boosts'> & {
  readonly track: string
  /** What other calls leave out is null. */
  readonly boosts: readonly RewardBoost[] | null
}
const CLAIMED: ShapeOf<{ readonly claimAll: { readonly claimed: readonly Claimed[] } }> = {
  members: {
    claimAll: {
      members: {
        claimed: {
          list: {
            members: {
              level: 'integer',
              track: 'string',
              granted: { list: REWARD },
              boosts: { orNull: { list: REWARD_BOOST } },
            },
          },
        },
      },
    },
  },
}

export interface Scenario {
  /** Starts the player's run, or resumes it. */
  start(options?: ChangeOptions): Promise<ScenarioSession>
  /**
   * A session for a run whose id the game has stored, without a call: for a game that starts offline. `refresh` reads
   * what the session does not know yet.
   */
  open(runId: string): ScenarioSession
}

/** Starts the player's run of a scenario, or resumes it. */
export async function startSession(
  calls: PlayerCalls,
  scenarioId: string,
  options?: ChangeOptions,
): Promise<ScenarioSession> {
  const { runId, resumed, plan, next } = await calls.change(
    '/sdk/v1/scenarios/start',
    { scenarioId },
    START_RUN_RESPONSE,
    options,
  )
  const session = new ScenarioSession(calls, scenarioId, { runId, isResumed: resumed, next: next ?? null })
  // The plan of a resumed run is an old one, so the active nodes are read.
  if (resumed) await session.refresh(options)
  else session.begin(plan)
  return session
}

/**
 * A player's run of a scenario. It knows the ids, and the state of the run from the answers of its calls. `refresh`
 * takes in calls that were made elsewhere; `follow` does so as they happen. While another player is signed in, its calls
 * reject with `signed_out`.
 */
export class ScenarioSession {
  readonly scenarioId: string
  readonly runId: string
  /** The run was active already when the session began. */
  readonly isResumed: boolean
  /**
   * The run of the season that follows, once the season of this scenario has ended: open it with
   * `player.scenario(next.scenarioId).open(next.runId)`. Null without one, and for a session that was opened.
   */
  readonly next: Pick<NextRun, 'scenarioId' | 'runId'> | null
  readonly #calls: PlayerCalls
  readonly #listeners = new Listeners<AllEvents>()
  #status: RunResponse['status'] = 'active'
  #active = new Map<string, EnteredNode>()
  #plan: ExecutionPlan | null = null
  /** The last known level of each pass. */
  readonly #levels = new Map<string, number>()
  #following: Following | undefined
  readonly #accounts = new Accounts()
  /** Calls under way. */
  readonly #underWay = new Set<Promise<unknown>>()
  /** The outcome of a call is unknown: its crossings may still be answered to a repetition. */
  #isUnsure = false
  /** Level nodes that were entered. Each crosses `onComplete` once. */
  readonly #levelNodes = new Set<string>()
  /** Level nodes whose `onComplete` an answer has shown. */
  readonly #completed = new Set<string>()
  /**
   * Given keys of calls whose answers were taken in. A repetition has the same crossings, which are reported already.
   */
  readonly #takenKeys = new Set<string>()

  constructor(
    calls: PlayerCalls,
    scenarioId: string,
    {
      runId,
      isResumed,
      next = null,
    }: Pick<ScenarioSession, 'runId' | 'isResumed'> & Partial<Pick<ScenarioSession, 'next'>>,
  ) {
    this.#calls = calls
    this.scenarioId = scenarioId
    this.runId = runId
    this.isResumed = isResumed
    this.next = next
  }

  /** The status of the run, as far as this session knows. */
  get status(): RunResponse['status'] {
    return this.#status
  }

  /** The nodes that were entered and not left. Nodes of the game's own types wait for `cross`. */
  get active(): readonly EnteredNode[] {
    return [...this.#active.values()]
  }

  /** The last plan of the run. */
  get plan(): ExecutionPlan | null {
    return this.#plan
  }

  /** A battle pass of the scenario. */
  battlePass(nodeId: string): BattlePassSession {
    return new BattlePassSession(this, nodeId)
  }

  /** A level node: one tier of a pass as a node of its own. */
  level(nodeId: string): LevelSession {
    return new LevelSession(this, nodeId)
  }

  /** Crosses a handle of an active node that the game runs. Resolves with the plan that follows. */
  async cross(nodeId: string, handle: string, options?: ChangeOptions): Promise<ExecutionPlan | null> {
    return (await this.change('/sdk/v1/scenarios/cross', { nodeId, handle }, CROSS_RESPONSE, options)).plan
  }

  /**
   * Reads the run: its status, its active nodes and its last plan. Of the listeners, only those of `ended` are called,
   * when the run is found to be over: once for each session, as after any other call.
   */
  async refresh(options?: CallOptions): Promise<void> {
    this.#learn(await this.#read(options))
  }

  #read(options?: CallOptions): Promise<RunResponse> {
    return this.#calls.call(RUN, { runId: this.runId }, RUN_RESPONSE, options)
  }

  #learn(run: RunResponse): void {
    this.#active = new Map()
    for (const node of run.active) this.#enterNode(node)
    this.#plan = run.plan
    this.#end(run.status)
  }

  /** Calls a function with each event of the run. Returns a function that removes the listener. */
  on<Name extends keyof SessionEvents>(name: Name, listener: (event: SessionEvents[Name]) => unknown): () => void {
    return this.#listeners.on(name, listener as (event: AllEvents[Name]) => unknown)
  }

  /**
   * Follows the run live. The session takes in what other devices do, and calls listeners once for each crossing of any
   * device. Returns a function that stops following. Followers are counted: the session follows until each has stopped.
   * A follower may stop, and another one begin, at any time: no crossing of this session's calls is lost or reported
   * twice.
   *
   * `onError` receives errors that do not pass by themselves, such as the end of the login. The session then no longer
   * follows.
   */
  follow({ onError }: { readonly onError?: (error: unknown) => unknown } = {}): () => void {
    const follower = { onError }
    this.#following ??= this.#beginFollowing()
    const following = this.#following
    following.followers.add(follower)
    return () => {
      following.followers.delete(follower)
      // Frameworks stop and begin again in one step, such as the strict mode of React: the stream then continues.
      void Promise.resolve().then(() => {
        if (following.followers.size === 0) this.#endFollowing(following)
      })
    }
  }

  #beginFollowing(): Following {
    const following: Following = { followers: new Set(), ending: new AbortController(), isLive: false }
    const { signal } = following.ending
    this.#runFollowing(following).catch((error) => {
      if (signal.aborted) return
      const followers = [...following.followers]
      this.#endFollowing(following)
      for (const { onError } of followers) onError?.(error)
    })
    return following
  }

  async #runFollowing(following: Following): Promise<void> {
    const { signal } = following.ending
    const after = await this.#enter(following)
    await this.refresh({ signal }).catch(ignorePassing)
    for await (const event of listen(this.#calls, { after, scenarioId: this.scenarioId, signal }))
      if (event.runId === this.runId) await this.#take(event, signal)
  }

  /** Earlier calls report crossings from their answers, later calls from the events after this cursor. */
  async #enter(following: Following): Promise<string> {
    const { signal } = following.ending
    for (let failed = 0; ; failed += 1) {
      const cursor = this.#settled().then(() => streamCursor(this.#calls, { signal }))
      const gate = unlessAborted(cursor, signal)
      following.gate = gate
      try {
        const after = await gate
        following.isLive = true
        return after
      } catch (error) {
        if (signal.aborted) throw error
        ignorePassing(error)
      } finally {
        following.gate = undefined
      }
      await pause(backoff(failed), signal)
    }
  }

  #endFollowing(following: Following): void {
    if (this.#following !== following) return
    this.#following = undefined
    following.ending.abort()
    for (const { crossing, details } of this.#accounts.end()) this.#emitCrossing(crossing, details)
    this.#isUnsure = false
    if (this.#underWay.size === 0) this.#accounts.settle()
  }

  /** @internal For an outbox. */
  isFor(playerId: string): boolean {
    return this.#calls.isFor(playerId)
  }

  /** @internal For nodes: a read of this scenario. */
  read<Answer>(path: string, body: object, shape: ShapeOf<Answer>, options?: CallOptions): Promise<Answer> {
    return this.#calls.call(path, { scenarioId: this.scenarioId, ...body }, shape, options)
  }

  /** @internal For nodes: a change in this run, whose answer may have a plan. */
  async change<Answer extends { readonly plan: ExecutionPlan | null }>(
    path: string,
    body: object,
    shape: ShapeOf<Answer>,
    options?: ChangeOptions,
  ): Promise<Answer> {
    const { scenarioId, runId } = this
    return this.during(async () => {
      const answer = await this.#calls.change(path, { scenarioId, runId, ...body }, shape, options)
      this.take(answer, body, options?.idempotencyKey)
      return answer
    })
  }

  /** @internal For nodes: claims all open tiers of a pass. */
  async claimAll(nodeId: string, options?: ChangeOptions): Promise<ClaimedTiers> {
    const { scenarioId, runId } = this
    return this.during(async () => {
      const idempotencyKey = keyOr(options?.idempotencyKey)
      const input = { scenarioId, nodeId, runId, idempotencyKey }
      const change = { ...options, idempotencyKey, isChange: true }
      const { claimed } = (await graphql(this.#calls, CLAIM_ALL, { input }, CLAIMED, change)).claimAll
      const answer = {
        claimed: claimed.map(({ boosts, ...tier }) => ({
          ...tier,
          track: tier.track.toLowerCase() as Track,
          ...(boosts && { boosts }),
        })),
      }
      if (answer.claimed.length > 0 && this.#isNewClaim(options?.idempotencyKey))
        await this.#afterClaim({
          granted: answer.claimed.flatMap(({ granted }) => granted),
          boosts: answer.claimed.flatMap(({ boosts = [] }) => boosts),
        })
      return answer
    })
  }

  /** @internal For nodes: claims a tier. */
  async claim(
    body: { nodeId: string; level?: number; track: Track },
    { choice, ...options }: ClaimOptions = {},
  ): Promise<ClaimResponse> {
    const { scenarioId, runId } = this
    return this.during(async () => {
      const path = '/sdk/v1/battlepass/claim'
      const isLevelNode = this.#active.get(body.nodeId)?.type === 'battle-pass-level'
      const claim = await this.#calls.change(path, { scenarioId, runId, ...body, choice }, CLAIM_RESPONSE, options)
      // A tier that was claimed on the pass before completes the level node, too.
      const mayCause = claim.success && (isLevelNode || !claim.alreadyClaimed)
      if (mayCause && this.#isNewClaim(options.idempotencyKey))
        await this.#afterClaim(claim.alreadyClaimed ? null : claim, isLevelNode ? body.nodeId : undefined)
      return claim
    })
  }

  /** @internal For nodes: listens to a node's handle. */
  onCrossing(nodeId: string, handle: string, listener: (event: never) => unknown): () => void {
    return this.#listeners.on('crossing', ({ crossing, details }) => {
      if (crossing.nodeId === nodeId && crossing.handle === handle) return listener((details ?? crossing) as never)
    })
  }

  /** @internal For nodes: stores the level of a pass that was read. */
  note(nodeId: string, level: number): void {
    this.#levels.set(nodeId, level)
  }

  /** @internal Takes in the first plan of a new run. There are no listeners yet. */
  begin(plan: ExecutionPlan | null): void {
    if (plan) this.#merge(plan)
  }

  /**
   * @internal Updates the session from an answer, and calls the listeners. An outbox passes the answers of the calls
   * that it sends later.
   */
  take(
    { plan, level, xp }: { readonly plan?: ExecutionPlan | null } & Partial<AddXpResponse>,
    { nodeId, source = '' }: { readonly nodeId?: string; readonly source?: string },
    givenKey?: string,
  ): void {
    const fromLevel = nodeId === undefined ? null : (this.#levels.get(nodeId) ?? null)
    if (nodeId !== undefined && level !== undefined) this.#levels.set(nodeId, level)
    if (!plan || plan.runId !== this.runId) return
    if (givenKey !== undefined) {
      if (this.#takenKeys.has(givenKey)) return
      this.#takenKeys.add(givenKey)
    }
    this.#merge(plan)
    for (const crossing of plan.crossed) {
      const isLevelUp = crossing.handle === 'onLevelUp' && level !== undefined && xp !== undefined
      this.#answered(crossing, isLevelUp ? { ...crossing, fromLevel, toLevel: level, xp, source } : null)
    }
    for (const node of plan.entered) this.#listeners.emit('entered', node)
    this.#emitGranted(plan)
  }

  /** Whether a claim is none that was repeated with its given key, whose answer was taken in. */
  #isNewClaim(givenKey: string | undefined): boolean {
    if (givenKey === undefined) return true
    const key = `claim ${givenKey}`
    const isNew = !this.#takenKeys.has(key)
    this.#takenKeys.add(key)
    return isNew
  }

  /**
   * Reads what a claim caused: its answer has no plan. `claimed` is null for a repeat, which grants no tier. A level node
   * that was claimed has crossed `onComplete`, also when another read has shown this before.
   */
  async #afterClaim(claimed: GrantedRewards | null, levelNodeId?: string): Promise<void> {
    if (claimed !== null) this.#emitGranted(claimed)
    const run = await this.#read().catch(() => undefined)
    // What is known now: an answer to another claim may have come meanwhile.
    const before = this.#active
    const known = print(this.#plan)
    if (run) this.#learn(run)
    const plan = this.#plan
    // A claim crosses `onComplete`, of level nodes or of the whole pass, and the plan continues from there.
    const isNew = plan !== null && plan.crossed[0]?.handle === 'onComplete' && print(plan) !== known
    const crossed: Crossing[] = isNew ? [...plan.crossed] : []
    if (claimed === null && isNew) this.#emitGranted(plan)
    // Each of several claims has a plan, and the run keeps only the last. A claimed level node is no longer active.
    for (const { nodeId, type } of before.values()) {
      if (type !== 'battle-pass-level' || this.#active.has(nodeId)) continue
      if (!crossed.some((crossing) => crossing.nodeId === nodeId)) crossed.unshift({ nodeId, handle: 'onComplete' })
    }
    if (levelNodeId !== undefined && !crossed.some(({ nodeId }) => nodeId === levelNodeId))
      crossed.unshift({ nodeId: levelNodeId, handle: 'onComplete' })
    for (const crossing of crossed) {
      if (this.#completed.has(crossing.nodeId)) continue
      if (this.#levelNodes.has(crossing.nodeId)) this.#completed.add(crossing.nodeId)
      this.#answered(crossing, null)
    }
    for (const node of this.#active.values()) if (!before.has(node.nodeId)) this.#listeners.emit('entered', node)
  }

  #emitGranted({ granted, boosts = [] }: GrantedRewards): void {
    if (granted.length > 0 || boosts.length > 0) this.#listeners.emit('granted', { rewards: granted, boosts })
  }

  /** Reports a crossing of an answer, unless an event has reported it or will report it. */
  #answered(crossing: Crossing, details: LevelUp | null): void {
    if (this.#accounts.answered({ crossing, details }, this.#following?.isLive ?? false))
      this.#emitCrossing(crossing, details)
  }

  #emitCrossing(crossing: Crossing, details: LevelUp | null): void {
    this.#listeners.emit('crossing', { crossing, details })
    this.#listeners.emit('crossed', details ?? crossing)
  }

  async #take({ type, nodeId, handle, data }: TierwayEvent, signal: Signal): Promise<void> {
    if (type === 'RUN_CANCELLED') await this.refresh({ signal }).catch(() => undefined)
    if (nodeId === null || handle === null) return
    const crossing = { nodeId, handle }
    if (typeof data.toLevel === 'number') this.#levels.set(nodeId, data.toLevel)
    // A read that fails leaves the nodes as they were, until the next event.
    await this.refresh({ signal }).catch(() => undefined)
    if (signal.aborted) return
    const details = handle === 'onLevelUp' ? ({ ...crossing, ...data } as LevelUp) : null
    this.#accounts.seen({ crossing, details }, this.#underWay.size > 0 || this.#isUnsure)
    this.#emitCrossing(crossing, details)
  }

  /** A node stays active until it crosses `onComplete`; a battle pass even then. */
  #merge(plan: ExecutionPlan): void {
    for (const { nodeId, handle } of plan.crossed)
      if (handle === 'onComplete' && this.#active.get(nodeId)?.type !== 'battle-pass') this.#active.delete(nodeId)
    for (const node of plan.entered) if (!PASSED_TYPES.includes(node.type)) this.#enterNode(node)
    this.#plan = plan
    this.#end(plan.status)
  }

  #enterNode(node: EnteredNode): void {
    this.#active.set(node.nodeId, node)
    if (node.type === 'battle-pass-level') this.#levelNodes.add(node.nodeId)
  }

  #end(status: RunResponse['status']): void {
    const isNew = this.#status !== status
    this.#status = status
    if (isNew && status !== 'active') this.#listeners.emit('ended', { status })
  }

  /** @internal Runs a call, and what takes in its answer, once the session allows it. Counts it as under way. */
  async during<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    while (this.#following?.gate) await this.#following.gate.catch(() => undefined)
    const answer = call()
    const settled = answer.catch((error) => {
      // An aborted call may have arrived, too.
      if (!TierwayError.is(error) || error.outcomeUnknown) this.#isUnsure = true
    })
    this.#underWay.add(settled)
    void settled.then(() => {
      this.#underWay.delete(settled)
      if (this.#underWay.size === 0 && !this.#isUnsure) this.#accounts.settle()
    })
    return answer
  }

  async #settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}

const print = (plan: ExecutionPlan | null): string =>
  JSON.stringify(plan, (_name, member) => (typeof member === 'bigint' ? String(member) : member))

/** The next event brings what a read has missed. */
function ignorePassing(error: unknown): void {
  if (!TierwayError.is(error) || !error.retryable) throw error
}

export interface ClaimOptions extends ChangeOptions {
  /** The option that the player picks, from 0, of a tier with a choice. */
  readonly choice?: number
}

/** A battle pass in a player's run. */
export class BattlePassSession {
  readonly nodeId: string
  readonly session: ScenarioSession

  constructor(session: ScenarioSession, nodeId: string) {
    this.session = session
    this.nodeId = nodeId
  }

  /** Reads level, xp, ownership and claimed tiers. */
  async progress(options?: CallOptions): Promise<ProgressResponse> {
    const { nodeId } = this
    const progress = await this.session.read('/sdk/v1/battlepass/progress', { nodeId }, PROGRESS_RESPONSE, options)
    this.session.note(nodeId, progress.level)
    return progress
  }

  /** Reads the dates of the season, and where it stands. */
  season(options?: CallOptions): Promise<SeasonResponse> {
    return this.session.read('/sdk/v1/battlepass/season', { nodeId: this.nodeId }, SEASON_RESPONSE, options)
  }

  /** Adds xp. `source` says where it comes from: up to 64 characters. */
  async addXp(
    amount: bigint | number,
    { source = '', ...options }: ChangeOptions & { readonly source?: string } = {},
  ): Promise<AddXpResponse> {
    const body = { nodeId: this.nodeId, amount, source }
    return this.session.change('/sdk/v1/battlepass/xp', body, ADD_XP_RESPONSE, options)
  }

  /** Claims a tier of a track. A repeat resolves with the rewards of the first claim. */
  claim(level: number, track: Track, options?: ClaimOptions): Promise<ClaimResponse> {
    return this.session.claim({ nodeId: this.nodeId, level, track }, options)
  }

  /** Claims all tiers that are open to the player now, except those with a choice. */
  claimAll(options?: ChangeOptions): Promise<ClaimedTiers> {
    return this.session.claimAll(this.nodeId, options)
  }

  /** Buys premium from the wallet. The idempotency key is random by default, and the same for all retries. */
  async buyPremium({ idempotencyKey = newKey(), ...options }: ChangeOptions = {}): Promise<PremiumResponse> {
    const body = { nodeId: this.nodeId, idempotencyKey }
    return this.session.change('/sdk/v1/battlepass/premium', body, PREMIUM_RESPONSE, { ...options, idempotencyKey })
  }

  /** Calls a function at each crossing of a handle of the pass. Returns a function that removes the listener. */
  on<Handle extends keyof BattlePassEvents>(
    handle: Handle,
    listener: (event: BattlePassEvents[Handle]) => unknown,
  ): () => void {
    return this.session.onCrossing(this.nodeId, handle, listener)
  }
}

/** A level node in a player's run: a view on one tier of a pass. */
export class LevelSession {
  readonly nodeId: string
  readonly session: ScenarioSession

  constructor(session: ScenarioSession, nodeId: string) {
    this.session = session
    this.nodeId = nodeId
  }

  /** Claims the tier. The node crosses `onComplete` with its first claim. */
  claim(track: Track, options?: ClaimOptions): Promise<ClaimResponse> {
    return this.session.claim({ nodeId: this.nodeId, track }, options)
  }

  /** Calls a function when the tier is claimed. Returns a function that removes the listener. */
  onComplete(listener: (crossing: Crossing) => unknown): () => void {
    return this.session.onCrossing(this.nodeId, 'onComplete', listener)
  }
}
