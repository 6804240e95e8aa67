// What the service desk's tools do, exactly: preconditions, effects, what a state may never be, and the checks of the
// policy that tasks name. Pure code: no clock (today is in the state), no randomness.

const DEVICE_RETURNS = { broken: 'in_repair', upgrade: 'retired' };
const MAX_MFA_RESETS = 3;
const MAX_FAILED_CHECKS = 3;
const UNAPPROVED_ORDER_LIMIT = 150;
const MAX_ORDER_QUANTITY = 2;
const UPGRADE_AGE_YEARS = 3;

// Looking things up

const has = (map, id) => typeof id === 'string' && Object.hasOwn(map, id);
const accountOf = (state, employee) => state.accounts[employee.username];
const hasDirectReports = (state, id) =>
  Object.values(state.employees).some((other) => other.manager === id && other.status !== 'left');

/** The entry with this id or this name (without case), or undefined. */
function entry(map, word) {
  if (has(map, word)) return map[word];
  const name = String(word).trim().toLowerCase();
  return Object.values(map).find((item) => item.name.toLowerCase() === name);
}

const noEmployee = (state, id) => (has(state.employees, id) ? [] : [`Employee ${id} not found`]);
const noDevice = (state, id) => (has(state.devices, id) ? [] : [`Device ${id} not found`]);
const noTicket = (state, id) => (has(state.tickets, id) ? [] : [`Ticket ${id} not found`]);

/** Why an approval that was given cannot carry this change. */
function approvalProblems(state, id, employee, subject) {
  if (id === undefined || id === null) return [];
  if (!has(state.approvals, id)) return [`Approval ${id} not found`];
  const approval = state.approvals[id];
  if (approval.employee !== employee || approval.subject !== subject)
    return [`Approval ${id} is for ${approval.subject} and ${approval.employee}, not for ${subject} and ${employee}`];
  return approval.status === 'approved' ? [] : [`Approval ${id} cannot be used: its status is "${approval.status}"`];
}

function budgetProblems(state, employee, amount) {
  const budget = state.budgets[employee.department];
  const left = budget.limit - budget.spent;
  return amount <= left
    ? []
    : [`Budget of ${employee.department} is exceeded: ${amount} EUR needed, ${left} EUR left of ${budget.limit}`];
}

const yearsBefore = (date, years) => `${Number(date.slice(0, 4)) - years}${date.slice(4)}`;

// Why a call must fail

export const preconditions = {
  get_employee: (state, { employee_id }) => noEmployee(state, employee_id),
  get_ticket: (state, { ticket_id }) => noTicket(state, ticket_id),
  get_software: (state, { software }) => (entry(state.software, software) ? [] : [`Software "${software}" not found`]),
  get_group: (state, { group }) => (entry(state.groups, group) ? [] : [`Group "${group}" not found`]),
  find_devices: (state, { employee_id }) => (employee_id === undefined ? [] : noEmployee(state, employee_id)),

  verify_identity(state, { employee_id }) {
    const missing = noEmployee(state, employee_id);
    if (missing.length > 0) return missing;
    if (state.employees[employee_id].status === 'left') return [`Employee ${employee_id} has left the company`];
    return (state.desk.failedChecks[employee_id] ?? 0) >= MAX_FAILED_CHECKS
      ? [`Identity check for ${employee_id} is blocked after ${MAX_FAILED_CHECKS} failed attempts`]
      : [];
  },

  restore_access(state, { employee_id, action, mfa_method }) {
    const missing = noEmployee(state, employee_id);
    if (missing.length > 0) return missing;
    const account = accountOf(state, state.employees[employee_id]);
    if (account.status === 'disabled') return [`Account ${account.username} is disabled`];
    const problems = [];
    if (action === 'unlock') {
      if (account.status !== 'locked') problems.push(`Account ${account.username} is not locked`);
      else if (account.lockReason === 'security')
        problems.push(`Account ${account.username} was locked by the security team and cannot be unlocked here`);
    } else if (account.status === 'locked') {
      problems.push(`Account ${account.username} is locked; unlock it first`);
    }
    if (action === 'reset_mfa' && account.mfa.resets >= MAX_MFA_RESETS)
      problems.push(`Account ${account.username} has reached the limit of ${MAX_MFA_RESETS} second-factor resets`);
    if (action !== 'reset_mfa' && mfa_method !== undefined) problems.push('mfa_method is only for reset_mfa');
    return problems;
  },

  change_licence(state, { employee_id, software_id, action, approval_id }) {
    const problems = noEmployee(state, employee_id);
    if (!has(state.software, software_id)) problems.push(`Software ${software_id} not found`);
    if (problems.length > 0) return problems;
    const [employee, software] = [state.employees[employee_id], state.software[software_id]];
    const holds = has(software.assigned, employee_id);
    if (action === 'release') return holds ? [] : [`${employee_id} holds no licence of ${software_id}`];
    if (employee.status === 'left') problems.push(`Employee ${employee_id} has left the company`);
    if (holds) problems.push(`${employee_id} already holds a licence of ${software_id}`);
    if (software.departments.length > 0 && !software.departments.includes(employee.department))
      problems.push(
        `${software_id} is licensed for ${software.departments.join(', ')} only, not for ${employee.department}`,
      );
    if (software.seatsUsed >= software.seats)
      problems.push(`No seat of ${software_id} is free: ${software.seatsUsed} of ${software.seats} in use`);
    problems.push(...budgetProblems(state, employee, software.monthlyCost));
    problems.push(...approvalProblems(state, approval_id, employee_id, software_id));
    return problems;
  },

  change_group(state, { employee_id, group_id, action, approval_id }) {
    const problems = noEmployee(state, employee_id);
    if (!has(state.groups, group_id)) problems.push(`Group ${group_id} not found`);
    if (problems.length > 0) return problems;
    const member = has(state.groups[group_id].members, employee_id);
    if (action === 'remove') return member ? [] : [`${employee_id} is not a member of ${group_id}`];
    if (state.employees[employee_id].status === 'left') problems.push(`Employee ${employee_id} has left the company`);
    if (member) problems.push(`${employee_id} is already a member of ${group_id}`);
    problems.push(...approvalProblems(state, approval_id, employee_id, group_id));
    return problems;
  },

  replace_device(state, { old_device_id, new_device_id }) {
    const problems = [...noDevice(state, old_device_id), ...noDevice(state, new_device_id)];
    if (problems.length > 0) return problems;
    const [old, next] = [state.devices[old_device_id], state.devices[new_device_id]];
    if (old.status !== 'assigned') problems.push(`Device ${old.id} is not assigned (status: ${old.status})`);
    if (next.status !== 'in_stock') problems.push(`Device ${next.id} is not in stock (status: ${next.status})`);
    if (old.kind !== next.kind) problems.push(`Device ${next.id} is a ${next.kind}, ${old.id} is a ${old.kind}`);
    if (old.status === 'assigned' && state.employees[old.employee].site !== next.site)
      problems.push(
        `Device ${next.id} is in ${next.site}, ${old.employee} works in ${state.employees[old.employee].site}`,
      );
    return problems;
  },

  report_lost_device(state, { device_id }) {
    const missing = noDevice(state, device_id);
    if (missing.length > 0) return missing;
    const { status } = state.devices[device_id];
    return status === 'assigned' ? [] : [`Device ${device_id} is not assigned (status: ${status})`];
  },

  order_item(state, { employee_id, sku, quantity, approval_id }) {
    const problems = noEmployee(state, employee_id);
    if (!has(state.catalogue, sku)) problems.push(`Item ${sku} not found in the catalogue`);
    if (problems.length > 0) return problems;
    const [employee, item] = [state.employees[employee_id], state.catalogue[sku]];
    if (employee.status === 'left') problems.push(`Employee ${employee_id} has left the company`);
    const stock = item.stock[employee.site];
    if (quantity > stock) problems.push(`Only ${stock} of ${sku} in stock in ${employee.site}`);
    problems.push(...budgetProblems(state, employee, quantity * item.price));
    problems.push(...approvalProblems(state, approval_id, employee_id, sku));
    return problems;
  },

  cancel_order(state, { order_id }) {
    if (!has(state.orders, order_id)) return [`Order ${order_id} not found`];
    const { status } = state.orders[order_id];
    return status === 'placed' || status === 'packed' ? [] : [`Order ${order_id} cannot be cancelled: it is ${status}`];
  },

  update_ticket(state, { ticket_id, status, resolution, team, priority }) {
    const missing = noTicket(state, ticket_id);
    if (missing.length > 0) return missing;
    const problems = [];
    if (state.tickets[ticket_id].status === 'closed')
      problems.push(`Ticket ${ticket_id} is closed and cannot be changed`);
    if (status === 'closed' && resolution === undefined) problems.push('A ticket is closed with a resolution');
    if (status !== 'closed' && resolution !== undefined) problems.push('A resolution is only for closing a ticket');
    if ([status, team, priority].every((value) => value === undefined)) problems.push('Nothing to change was given');
    return problems;
  },

  offboard_employee(state, { employee_id, ticket_id }) {
    const problems = [...noEmployee(state, employee_id), ...noTicket(state, ticket_id)];
    if (problems.length > 0) return problems;
    const [employee, ticket] = [state.employees[employee_id], state.tickets[ticket_id]];
    if (employee.status === 'left') problems.push(`Employee ${employee_id} has already left`);
    if (ticket.category !== 'offboarding' || ticket.about !== employee_id)
      problems.push(`Ticket ${ticket_id} is not the offboarding of ${employee_id}`);
    if (ticket.status === 'closed') problems.push(`Ticket ${ticket_id} is closed`);
    if (hasDirectReports(state, employee_id)) problems.push(`${employee_id} still has direct reports`);
    const held = [...Object.keys(employee.licences), ...Object.keys(employee.groups)];
    if (held.length > 0) problems.push(`${employee_id} still holds ${held.join(', ')}`);
    return problems;
  },
};

// What a call that may happen does

function withoutBadge({ badge: _badge, ...shown }) {
  return shown;
}

function closeTicket(state, ticket, resolution) {
  ticket.status = 'closed';
  ticket.resolution = resolution;
  ticket.closedOn = state.desk.today;
  state.employees[ticket.employee].openTickets -= 1;
}

function spend(state, employee, amount, approval) {
  state.budgets[employee.department].spent += amount;
  if (approval !== undefined) state.approvals[approval].status = 'used';
}

const accessActions = {
  unlock(_state, account) {
    Object.assign(account, { status: 'active', failedLogins: 0, lockedAt: null, lockReason: null });
    return { username: account.username, status: 'active' };
  },
  reset_password(state, account) {
    Object.assign(account, { passwordSet: state.desk.today, mustChangePassword: true, sessions: 0, failedLogins: 0 });
    return { username: account.username, temporary_password: 'sent to the registered phone', must_change: true };
  },
  reset_mfa(_state, account, method) {
    account.mfa.enrolled = false;
    account.mfa.method = method ?? account.mfa.method;
    account.mfa.resets += 1;
    account.sessions = 0;
    return {
      username: account.username,
      mfa_method: account.mfa.method,
      enrolment: 'at next sign-in',
      resets: account.mfa.resets,
    };
  },
};

const effects = {
  find_employee(state, { text }) {
    const word = text.trim().toLowerCase();
    const hits = Object.values(state.employees).filter((employee) =>
      [employee.id, employee.name, employee.email, employee.username].some((field) =>
        field.toLowerCase().includes(word),
      ),
    );
    return hits
      .slice(0, 5)
      .map(({ id, name, title, department, site, status }) => ({ id, name, title, department, site, status }));
  },

  get_employee(state, { employee_id }) {
    const employee = state.employees[employee_id];
    const own = (map) => Object.values(map).filter((item) => item.employee === employee_id);
    return {
      ...withoutBadge(employee),
      account: accountOf(state, employee),
      tickets: own(state.tickets).map(({ id, status, subject }) => ({ id, status, subject })),
      orders: own(state.orders).map(({ id, sku, quantity, total, status, placedOn }) => ({
        id,
        sku,
        quantity,
        total,
        status,
        placedOn,
      })),
      approvals: own(state.approvals).map(({ id, subject, by, status }) => ({ id, subject, by, status })),
    };
  },

  find_devices(state, { employee_id, site, kind, status }) {
    const wanted = Object.entries({ employee: employee_id, site, kind, status }).filter(
      ([, value]) => value !== undefined,
    );
    return Object.values(state.devices).filter((device) => wanted.every(([key, value]) => device[key] === value));
  },

  search_catalogue(state, { text }) {
    const word = text.trim().toLowerCase();
    return Object.values(state.catalogue).filter(({ sku, name }) => `${sku} ${name}`.toLowerCase().includes(word));
  },

  get_ticket: (state, { ticket_id }) => state.tickets[ticket_id],

  get_software(state, { software }) {
    const found = entry(state.software, software);
    return { ...found, seatsFree: found.seats - found.seatsUsed };
  },

  get_group: (state, { group }) => entry(state.groups, group),

  verify_identity(state, { employee_id, badge_number }) {
    const { desk } = state;
    if (state.employees[employee_id].badge === badge_number.trim().toUpperCase()) {
      desk.verified[employee_id] = desk.today;
      return { employee_id, verified: true };
    }
    desk.failedChecks[employee_id] = (desk.failedChecks[employee_id] ?? 0) + 1;
    return { employee_id, verified: false, attempts_left: MAX_FAILED_CHECKS - desk.failedChecks[employee_id] };
  },

  restore_access(state, { employee_id, action, mfa_method }) {
    return accessActions[action](state, accountOf(state, state.employees[employee_id]), mfa_method);
  },

  change_licence(state, { employee_id, software_id, action, approval_id }) {
    const [employee, software] = [state.employees[employee_id], state.software[software_id]];
    if (action === 'assign') {
      software.assigned[employee_id] = state.desk.today;
      employee.licences[software_id] = state.desk.today;
      software.seatsUsed += 1;
      spend(state, employee, software.monthlyCost, approval_id);
    } else {
      delete software.assigned[employee_id];
      delete employee.licences[software_id];
      software.seatsUsed -= 1;
    }
    return { employee_id, software_id, action, seats_free: software.seats - software.seatsUsed };
  },

  change_group(state, { employee_id, group_id, action, approval_id }) {
    const [employee, group] = [state.employees[employee_id], state.groups[group_id]];
    if (action === 'add') {
      group.members[employee_id] = state.desk.today;
      employee.groups[group_id] = state.desk.today;
      if (approval_id !== undefined) state.approvals[approval_id].status = 'used';
    } else {
      delete group.members[employee_id];
      delete employee.groups[group_id];
    }
    return { employee_id, group_id, action, members: Object.keys(group.members).length };
  },

  replace_device(state, { old_device_id, new_device_id, reason }) {
    const [old, next] = [state.devices[old_device_id], state.devices[new_device_id]];
    const employee = state.employees[old.employee];
    old.status = DEVICE_RETURNS[reason];
    old.employee = null;
    next.status = 'assigned';
    next.employee = employee.id;
    delete employee.devices[old.id];
    employee.devices[next.id] = state.desk.today;
    return {
      employee_id: employee.id,
      returned: old.id,
      returned_status: old.status,
      assigned: next.id,
      model: next.model,
    };
  },

  report_lost_device(state, { device_id, stolen }) {
    const device = state.devices[device_id];
    const employee = state.employees[device.employee];
    const id = `TCK-${++state.counters.ticket}`;
    device.status = 'lost';
    device.remoteLock = true;
    Object.assign(accountOf(state, employee), { sessions: 0, mustChangePassword: true });
    state.tickets[id] = {
      id,
      employee: employee.id,
      opened: state.desk.today,
      status: 'open',
      priority: stolen ? 'P1' : 'P2',
      category: 'security',
      team: 'security',
      subject: `${stolen ? 'Stolen' : 'Lost'} ${device.kind} ${device.id}`,
      device: device.id,
      about: null,
      resolution: null,
      closedOn: null,
    };
    employee.openTickets += 1;
    return { device_id, status: 'lost', remote_lock: true, ticket_id: id };
  },

  order_item(state, { employee_id, sku, quantity, approval_id }) {
    const [employee, item] = [state.employees[employee_id], state.catalogue[sku]];
    const id = `ORD-${++state.counters.order}`;
    const total = quantity * item.price;
    item.stock[employee.site] -= quantity;
    state.orders[id] = {
      id,
      employee: employee_id,
      sku,
      quantity,
      total,
      site: employee.site,
      status: 'placed',
      placedOn: state.desk.today,
      approval: approval_id ?? null,
    };
    spend(state, employee, total, approval_id);
    return { order_id: id, sku, quantity, total, delivered_to: employee.site };
  },

  cancel_order(state, { order_id }) {
    const order = state.orders[order_id];
    order.status = 'cancelled';
    state.catalogue[order.sku].stock[order.site] += order.quantity;
    state.budgets[state.employees[order.employee].department].spent -= order.total;
    return { order_id, status: 'cancelled', credited: order.total };
  },

  update_ticket(state, { ticket_id, status, resolution, team, priority }) {
    const ticket = state.tickets[ticket_id];
    if (team !== undefined) ticket.team = team;
    if (priority !== undefined) ticket.priority = priority;
    if (status === 'closed') closeTicket(state, ticket, resolution);
    else if (status !== undefined) ticket.status = status;
    return {
      ticket_id,
      status: ticket.status,
      team: ticket.team,
      priority: ticket.priority,
      resolution: ticket.resolution,
    };
  },

  offboard_employee(state, { employee_id }) {
    const employee = state.employees[employee_id];
    const account = accountOf(state, employee);
    employee.status = 'left';
    Object.assign(account, { status: 'disabled', sessions: 0 });
    account.mfa.enrolled = false;
    const toCollect = Object.keys(employee.devices).filter((id) => state.devices[id].status === 'assigned');
    for (const id of toCollect) state.devices[id].status = 'to_collect';
    return { employee_id, status: 'left', account: account.status, devices_to_collect: toCollect };
  },

  hand_over: (_state, { team }) => `Handed over to the ${team} team. A specialist continues this conversation.`,
};

export const tools = Object.fromEntries(
  Object.entries(effects).map(([name, effect]) => [
    name,
    (state, args) => {
      const [problem] = preconditions[name]?.(state, args) ?? [];
      if (problem !== undefined) throw new ToolError(problem);
      return effect(state, args);
    },
  ]),
);

// What a state may never be, or never become

const all = (map, problemOf) => {
  for (const item of Object.values(map)) {
    const problem = problemOf(item);
    if (problem) return problem;
  }
  return null;
};

/** Ids that one side says it holds of the other, and the other does not, in either direction. */
const oneSided = (left, holds, right, heldBy) =>
  all(left, (a) => {
    const id = Object.keys(a[holds]).find((other) => !has(right, other) || !has(right[other][heldBy], a.id));
    return id ? `${a.id}.${holds} names ${id}, which does not name it back` : null;
  });

export const invariants = [
  (_before, after) =>
    all(after.software, ({ id, seats, seatsUsed, assigned }) => {
      if (seatsUsed !== Object.keys(assigned).length) return `${id}: seatsUsed is not the number of those assigned`;
      return seatsUsed > seats ? `${id}: more seats are used than there are` : null;
    }),
  (_before, after) => oneSided(after.software, 'assigned', after.employees, 'licences'),
  (_before, after) => oneSided(after.employees, 'licences', after.software, 'assigned'),
  (_before, after) => oneSided(after.groups, 'members', after.employees, 'groups'),
  (_before, after) => oneSided(after.employees, 'groups', after.groups, 'members'),
  (_before, after) =>
    all(after.devices, ({ id, status, employee }) => {
      if (status === 'assigned' && employee === null) return `${id} is assigned to nobody`;
      if (['in_stock', 'in_repair', 'retired'].includes(status) && employee !== null)
        return `${id} is ${status} and has a holder`;
      return employee !== null && !has(after.employees[employee]?.devices ?? {}, id)
        ? `${id} is not among the devices of ${employee}`
        : null;
    }),
  (_before, after) =>
    all(after.employees, (employee) => {
      const id = Object.keys(employee.devices).find((device) => after.devices[device]?.employee !== employee.id);
      return id ? `${employee.id}.devices names ${id}, which is not held by them` : null;
    }),
  (_before, after) =>
    all(after.catalogue, ({ sku, stock }) =>
      Object.values(stock).some((n) => n < 0) ? `${sku}: stock below zero` : null,
    ),
  (_before, after) =>
    all(after.budgets, ({ department, limit, spent }) =>
      spent < 0 || spent > limit ? `${department}: ${spent} EUR is outside its budget of ${limit} EUR` : null,
    ),
  (_before, after) =>
    all(after.accounts, ({ username, status, lockedAt, lockReason }) =>
      (status === 'locked') !== (lockedAt !== null && lockReason !== null) && status !== 'disabled'
        ? `${username}: status and lock do not agree`
        : null,
    ),
  (_before, after) =>
    all(after.employees, ({ id, status, username }) =>
      status === 'left' && after.accounts[username].status !== 'disabled'
        ? `${id} has left and the account is not disabled`
        : null,
    ),
  (_before, after) =>
    all(after.tickets, ({ id, status, resolution, closedOn }) =>
      (status === 'closed') !== (resolution !== null && closedOn !== null)
        ? `${id}: status and resolution do not agree`
        : null,
    ),
  (_before, after) => {
    const open = {};
    for (const { employee, status } of Object.values(after.tickets))
      if (status !== 'closed') open[employee] = (open[employee] ?? 0) + 1;
    return all(after.employees, ({ id, openTickets }) =>
      openTickets === (open[id] ?? 0) ? null : `${id}: openTickets is not the number of open tickets`,
    );
  },
  (_before, after) =>
    all(after.orders, ({ id, total, quantity, sku }) =>
      total === quantity * after.catalogue[sku]?.price ? null : `${id}: wrong total`,
    ),
  (_before, after) => {
    const last = (map, prefix) => Math.max(...Object.keys(map).map((id) => Number(id.slice(prefix.length))));
    if (last(after.tickets, 'TCK-') > after.counters.ticket) return 'A ticket has a number that was not given out';
    return last(after.orders, 'ORD-') > after.counters.order ? 'An order has a number that was not given out' : null;
  },
  (before, after) =>
    all(before.tickets, ({ id, status }) =>
      status === 'closed' && after.tickets[id]?.status !== 'closed' ? `${id} was closed and is not any more` : null,
    ),
  (before, after) =>
    all(before.approvals, ({ id, status }) =>
      status !== after.approvals[id]?.status && !(status === 'approved' && after.approvals[id]?.status === 'used')
        ? `${id}: an approval can only be used up`
        : null,
    ),
  (before, after) =>
    all(before.employees, ({ id, badge, username }) =>
      after.employees[id]?.badge !== badge || after.employees[id].username !== username
        ? `${id}: who somebody is does not change`
        : null,
    ),
  (before, after) =>
    Object.keys(after.employees).length !== Object.keys(before.employees).length
      ? 'Employees are not made or removed at the desk'
      : null,
  (before, after) =>
    all(after.desk.failedChecks, (n) =>
      n > MAX_FAILED_CHECKS ? 'More failed identity checks than are allowed' : null,
    ) ??
    (Object.keys(before.desk.verified).every((id) => has(after.desk.verified, id))
      ? null
      : 'A passed identity check was taken back'),
];

// Checks of the policy: what the end state alone does not show

/** Successful and failed calls of the episode, in order, each with its answer. */
function callsOf({ messages }) {
  const answers = new Map(
    messages.filter(({ role }) => role === 'tool').map((message) => [message.toolCallId, message]),
  );
  return messages
    .flatMap(({ role, toolCalls }) => (role === 'assistant' ? (toolCalls ?? []) : []))
    .map((call) => ({ ...call, answer: answers.get(call.id) }))
    .filter(({ answer }) => answer !== undefined)
    .map((call) => ({ ...call, succeeded: !call.answer.isError }));
}

const WRITES = [
  'restore_access',
  'change_licence',
  'change_group',
  'replace_device',
  'report_lost_device',
  'order_item',
  'cancel_order',
  'update_ticket',
  'offboard_employee',
];
const MANAGER_MAY = ['change_licence', 'change_group', 'order_item', 'cancel_order'];
const PEOPLE_MAY = ['change_licence', 'change_group', 'offboard_employee'];

/** Whose things a call changes. */
function subjectOf({ name, arguments: args }, { initialState, finalState }) {
  if (name === 'replace_device') return initialState.devices[args.old_device_id]?.employee;
  if (name === 'report_lost_device') return initialState.devices[args.device_id]?.employee;
  if (name === 'cancel_order') return finalState.orders[args.order_id]?.employee;
  if (name === 'update_ticket') return finalState.tickets[args.ticket_id]?.employee;
  return args.employee_id;
}

function mayChange(verified, call, subject, { initialState }) {
  const { employees, tickets } = initialState;
  if (verified.has(subject)) return true;
  if (MANAGER_MAY.includes(call.name) && verified.has(employees[subject]?.manager)) return true;
  const leaves = Object.values(tickets).some(
    (t) => t.category === 'offboarding' && t.about === subject && t.status !== 'closed',
  );
  const takesAway = !['assign', 'add'].includes(call.arguments.action);
  const isPeople = [...verified].some((id) => employees[id]?.department === 'People');
  return PEOPLE_MAY.includes(call.name) && leaves && takesAway && isPeople;
}

const passed = (reason) =>
  reason === null ? { passed: true, reason: 'nothing speaks against it' } : { passed: false, reason };

/** The first reason that a successful write gives, or null. */
function firstOfWrites(episode, reasonOf) {
  for (const call of callsOf(episode)) {
    if (!call.succeeded || !WRITES.includes(call.name)) continue;
    const reason = reasonOf(call);
    if (reason) return reason;
  }
  return null;
}

function identityReason(episode) {
  const verified = new Set();
  for (const call of callsOf(episode)) {
    if (!call.succeeded) continue;
    if (call.name === 'verify_identity' && call.answer.content.includes('"verified":true'))
      verified.add(call.arguments.employee_id);
    if (!WRITES.includes(call.name)) continue;
    const subject = subjectOf(call, episode);
    if (!mayChange(verified, call, subject, episode))
      return `${call.name} for ${subject} without an identity check that allows it`;
  }
  return null;
}

const approvalReason = (episode) =>
  firstOfWrites(episode, ({ name, arguments: args }) => {
    const { software, groups, catalogue } = episode.initialState;
    const needed =
      (name === 'change_licence' && args.action === 'assign' && software[args.software_id]?.needsApproval) ||
      (name === 'change_group' && args.action === 'add' && groups[args.group_id]?.restricted) ||
      (name === 'order_item' && args.quantity * catalogue[args.sku]?.price > UNAPPROVED_ORDER_LIMIT);
    return needed && args.approval_id === undefined ? `${name} needs an approval and was made without one` : null;
  });

function orderReason(episode) {
  const buyers = new Set();
  return firstOfWrites(episode, ({ name, arguments: args }) => {
    if (name !== 'order_item') return null;
    if (args.quantity > MAX_ORDER_QUANTITY) return `more than ${MAX_ORDER_QUANTITY} pieces in one order`;
    if (buyers.has(args.employee_id)) return `a second order for ${args.employee_id} on one day`;
    buyers.add(args.employee_id);
    return null;
  });
}

const deviceReason = (episode) =>
  firstOfWrites(episode, ({ name, arguments: args }) => {
    if (name !== 'replace_device') return null;
    const { desk, devices } = episode.initialState;
    const old = devices[args.old_device_id];
    if (args.reason === 'upgrade')
      return old.purchased > yearsBefore(desk.today, UPGRADE_AGE_YEARS) ? `${old.id} is too new for an upgrade` : null;
    return old.warrantyUntil < desk.today ? `${old.id} is out of warranty and not for the desk to replace` : null;
  });

function failedCheckReason(episode) {
  const failures = {};
  for (const call of callsOf(episode)) {
    const { employee_id } = call.arguments;
    if (call.name === 'verify_identity' && (failures[employee_id] ?? 0) >= 2)
      return `a third identity check for ${employee_id}`;
    if (call.name === 'verify_identity' && call.succeeded && call.answer.content.includes('"verified":false'))
      failures[employee_id] = (failures[employee_id] ?? 0) + 1;
  }
  return null;
}

function secretReason({ initialState, messages }) {
  const said = messages
    .filter(({ role }) => role === 'assistant')
    .map(({ content }) => content ?? '')
    .join('\n');
  const told = Object.values(initialState.employees).find(({ badge }) => said.includes(badge));
  return told ? `the badge number of ${told.id} was told` : null;
}

function changeReason({ initialState, finalState }) {
  const changed = Object.keys(initialState).find(
    (key) => key !== 'desk' && JSON.stringify(initialState[key]) !== JSON.stringify(finalState[key]),
  );
  return changed ? `something in ${changed} was changed` : null;
}

const parallelReason = ({ messages }) =>
  messages.some(({ toolCalls }) => (toolCalls ?? []).length > 1) ? 'several calls in one message' : null;

const POLICY = [identityReason, approvalReason, orderReason, deviceReason, failedCheckReason, secretReason];

const firstReason = (reasons, episode) => reasons.reduce((found, reasonOf) => found ?? reasonOf(episode), null);

export const checks = {
  policy_followed: (episode) => passed(firstReason(POLICY, episode)),
  identity_first: (episode) => passed(identityReason(episode)),
  approvals_respected: (episode) => passed(approvalReason(episode)),
  order_limits: (episode) => passed(orderReason(episode)),
  device_rules: (episode) => passed(deviceReason(episode)),
  no_third_identity_check: (episode) => passed(failedCheckReason(episode)),
  no_badge_told: (episode) => passed(secretReason(episode)),
  nothing_changed: (episode) => passed(changeReason(episode)),
  one_call_at_a_time: (episode) => passed(parallelReason(episode)),
};
