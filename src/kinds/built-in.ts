// The kinds that come with the package: a folder each, and a line here.

import { kinds } from './registry.js';
import { screenKind } from './screen/kind.js';
import { textKind } from './text/kind.js';
import { toolsKind } from './tools/kind.js';
import { vectorKind } from './vector/kind.js';

kinds.register(vectorKind);
kinds.register(toolsKind);
kinds.register(textKind);
kinds.register(screenKind);
