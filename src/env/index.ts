// What other rooms and users may know of environments.

export type * from '../core/environment.js';
export type * from '../core/policy.js';
export type * from '../core/spaces.js';
export {
  type CheckName,
  type CheckOptions,
  checkEnvironment,
  describeReport,
  type EnvironmentCheck,
  type EnvironmentReport,
} from './check-environment.js';
export { type Advance, ClockedEnvironment, type EnvironmentDescription } from './clocked-environment.js';
export { checkEnvSpec, type EnvSpec, envSpecSchema } from './env-spec.js';
export type { EnvironmentEntry, EnvironmentSettings } from './environment-entry.js';
export { environmentIds, environments } from './environments.js';
export { type PythonPackage, pythonPackage } from './gymnasium/python-program.js';
export { gymnasiumSpecOf } from './gymnasium-spec.js';
export { type FoundJar, findJar, type PackagedJar } from './java/find-jar.js';
export type { Asked, JavaForm, JavaMoment, PlayedGame } from './java/java-form.js';
export { type JavaGamesOptions, javaGamesDomain, javaGameUnknown } from './java/java-games-domain.js';
export { type MakeOptions, makeEnvironment } from './make-environment.js';
export type { BodySpec, BodySpecInput } from './mujoco/body-spec.js';
export type { Expression } from './mujoco/expression-schema.js';
export type { Geom } from './mujoco/geoms.js';
export { MujocoEnvironment } from './mujoco/mujoco-environment.js';
export { hideElements } from './partial-environment.js';
export { type FoundGame, findGames, gamesHash, gamesNotFound, readGame } from './pddl/game-files.js';
export {
  type CarriedGames,
  carriedDomain,
  type GameEntry,
  type GameFile,
  type GamesDomainOptions,
  gamesDomain,
} from './pddl/games-domain.js';
export { type GameOptions, GamePlay, type GameSource, TextGame } from './pddl/text-game.js';
export type {
  AnyRemoteEnvironment,
  RemoteOptions,
  RemoteTextEnvironment,
  RemoteToolsEnvironment,
  RemoteVectorEnvironment,
} from './remote/open-remote.js';
export { remoteEnvironment } from './remote/remote.js';
export type { RemoteCard, RemoteTask } from './remote/wire-schemas.js';
export {
  type ApplicationOptions,
  type ApplicationStart,
  type ApplicationTask,
  applicationDomain,
  type FoundApplication,
} from './screens/application-domain.js';
export { screenGraphDomain } from './screens/graph/graph-entry.js';
export type { AppJudge, AppSpec, PageContract } from './screens/page/page-browser.js';
export type { BrowserName } from './screens/page/page-requests.js';
export { type DrawnPage, MAX_MARKUP } from './screens/page/still-page.js';
export { PageDrawer } from './screens/page-drawer.js';
export { type Perturbation, perturbationSchema } from './screens/perturbation.js';
export { possibleActions, textsNamed } from './screens/possible-actions.js';
export {
  type ActionSet,
  actionLine,
  actionSetsSchema,
  elementKeys,
  parseAction,
  SCREEN_ACTIONS,
  type ScreenAction,
} from './screens/screen-actions.js';
export { screenChanges } from './screens/screen-changes.js';
export { type ShownElement, sameScreenCheck, screenCheck, showsCheck } from './screens/screen-checks.js';
export { type DrawnScreen, screenOfDrawn } from './screens/screen-drawn.js';
export { screenMarkup } from './screens/screen-markup.js';
export {
  ELEMENT_PROPERTIES,
  memoryOf,
  NO_SCREEN,
  type ScreenElement,
  type ScreenState,
  type ScreenView,
  tabsOf,
  treeFaults,
} from './screens/screen-state.js';
export { elementIn, screenText } from './screens/screen-tree.js';
export {
  appNotFound,
  isScreenDomain,
  pagesNotFound,
  pageUnknown,
  type ScreensDomainOptions,
  screensDomain,
} from './screens/screens-domain.js';
export { drawBySeed, pickBySeed, type ScreenPage, type SeededPage, seededPages } from './screens/seeded-pages.js';
export { clickOn, elementsBelow, fillIn, findElement, selectIn } from './screens/solving.js';
export { connectOpenEnv } from './servers/openenv/entry.js';
export type { Frame as OpenEnvFrame, OpenEnvSocket } from './servers/openenv/socket.js';
export { serverProtocols } from './servers/protocols.js';
export {
  type EnvironmentServer,
  type ServerCard,
  ServerFull,
  type ServerLacks,
  type ServerSession,
  SessionLost,
} from './servers/server-contract.js';
export { serverKeys } from './servers/server-protocol.js';
export {
  boxSpace,
  clipToSpace,
  contains,
  describeSpace,
  discreteSpace,
  requireAction,
  rowSize,
  unboundedSpace,
} from './space-values.js';
export { applyOperations, diffStates, recordOperations } from './state/operations.js';
export { pointerKeys, valueAt } from './state/pointer.js';
export { compileSchema, type SchemaCheck } from './state/schema.js';
export { stateHash } from './state/state-hash.js';
export { type GridOptions, gridDynamics } from './tabular/grid-dynamics.js';
export { Gridworld } from './tabular/gridworld.js';
export { stateAt, type TabularDynamics, type TabularSolution, valueIteration } from './tabular/tabular-dynamics.js';
export { isWorkedOutLater } from './tools/act-domain.js';
export { type CallChecks, callChecks } from './tools/call-checks.js';
export { CallDynamics, structuredDynamics } from './tools/call-dynamics.js';
export { type SpokenMessage, spokenMessages, successfulCalls } from './tools/conversation.js';
export type * from './tools/domain.js';
export { toolsTaskSchema } from './tools/domain-schemas.js';
export { type DomainSpec, domainSpecSchema, loadNamedDomains, serverKeyOf } from './tools/domain-spec.js';
export { type DomainEntry, type DomainSettings, folderDomain, type MakeDomain } from './tools/domains.js';
export {
  type InducedRule,
  type InducedRuleOf,
  type InducedRules,
  inducedFileSchema,
} from './tools/induced-schema.js';
export { ARGUMENT_LIMITS, isJson, type JsonLimits, jsonProblem, STATE_LIMITS } from './tools/json-limits.js';
export {
  type DomainFiles,
  freezeDeep,
  loadDomain,
  readInducedRules,
  readTools,
  versionOf,
  withSplits,
  withTasks,
} from './tools/load-domain.js';
export { domainFiles, domainFolder, type MakeDomainOptions, makeDomain } from './tools/make-domain.js';
export type * from './tools/message.js';
export { mapTexts } from './tools/phrases/phrase-book.js';
export { Phrases } from './tools/phrases/phrases.js';
export { exactPrediction, type Operation, type Prediction, refusalOf } from './tools/prediction.js';
export { comparedResponder, elsewhere, isReal, type RealEnvironment, realResponder } from './tools/real-environment.js';
export { refusalsOf, rulesResponder } from './tools/rules-responder.js';
export { type SandboxedRules, sandboxedRules } from './tools/sandbox/sandboxed-rules.js';
export { areRulesTrusted, trustRules } from './tools/sandbox/trusted-sandbox.js';
export { FAREWELL, NOTHING_TO_ADD, ScriptedUser } from './tools/scripted-user.js';
export {
  isShownDomain,
  nothingShown,
  placeOf,
  type ShownMoment,
  type ShownState,
  shownChanges,
  shownSchema,
} from './tools/shown-state.js';
export type { Situation } from './tools/situation.js';
export type * from './tools/structured.js';
export { initialStateOf, referenceStateOf } from './tools/task-states.js';
export {
  admissibleIn,
  isTextDomain,
  type LineEnvironment,
  lineEnvironment,
  type Screenshot,
  type TextEnvironment,
  textEnvironment,
} from './tools/text-environment.js';
export {
  type ForkOptions,
  type ToolsEnvironmentOptions,
  ToolsEpisodeEnvironment,
  type ToolsResetOptions,
} from './tools/tools-environment.js';
export type * from './tools/tools-family.js';
export { rewardOf, type StateChange, stateChanges, verifyEpisode } from './tools/verify-episode.js';
export { unpackedArchive } from './unpacked-archive.js';
